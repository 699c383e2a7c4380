#include "schedulers/median_stopping_scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/option_map.h"

namespace tune {

MedianStoppingScheduler::MedianStoppingScheduler(const MedianStoppingOptions& options, Mode mode)
    : options_(options), mode_(mode) {}

void MedianStoppingScheduler::OnTrialAdded(TrialNumber number) {
  Trial& trial = trials_.Add(number);
  TUNE_CHECK(trial.state == State::kOver);
  trial.state = State::kRunning;
  ++running_count_;
  no_more_trials_ = false;
}

Metric MedianStoppingScheduler::MeanAt(const Trial& trial, int64_t iteration) {
  const auto after =
      std::upper_bound(trial.points.begin(), trial.points.end(), iteration,
                       [](int64_t t, const Point& point) { return t < point.iteration; });
  if (after == trial.points.begin()) return std::nullopt;
  const Point& point = *(after - 1);
  const double mean = point.sum / static_cast<double>(point.count);
  return point.count == 0 || std::isnan(mean) ? Metric() : Metric(mean);
}

RankedValues& MedianStoppingScheduler::MeansAt(int64_t iteration, TrialNumber but) {
  const auto [place, is_new] = means_.try_emplace(iteration, mode_);
  if (!is_new) return place->second;
  const Trial* const left_out = &trials_[but];
  for (const Trial& trial : trials_) {
    if (&trial == left_out || trial.points.empty()) continue;
    if (trial.points.back().iteration < iteration) continue;
    if (const Metric mean = MeanAt(trial, iteration)) place->second.Insert(*mean);
  }
  return place->second;
}

// Enters its means where it is now as far as others were.
void MedianStoppingScheduler::Advance(Trial& trial, int64_t iteration, Metric value) {
  const int64_t before = trial.points.empty() ? 0 : trial.points.back().iteration;
  if (const Metric mean = MeanAt(trial, before)) {
    for (auto step = means_.upper_bound(before); step != means_.end() && step->first < iteration;
         ++step) {
      step->second.Insert(*mean);
    }
  }
  Point point = trial.points.empty() ? Point{} : trial.points.back();
  point.iteration = iteration;
  if (value && iteration >= options_.grace_period) {
    point.sum += *value;
    ++point.count;
  }
  trial.points.push_back(point);
  if (value && (!trial.best || IsBetter(*value, *trial.best, mode_))) trial.best = value;
}

Decision MedianStoppingScheduler::OnReport(TrialNumber number, int64_t iteration, Metric value) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.state == State::kRunning);
  value = Finite(value);
  Decision decision;
  Advance(trial, iteration, value);
  if (iteration < options_.grace_period) return decision;
  RankedValues& means = MeansAt(iteration, number);
  const size_t count = means.size();
  const bool is_ranked = value || options_.nan == NanRule::kStop;
  if (is_ranked && count >= static_cast<size_t>(options_.min_samples_required)) {
    const size_t better = value ? means.CountBetterThan(*trial.best) : count;
    decision.rung = iteration;
    decision.cutoff = means.At((count - 1) / 2, count % 2 == 0 ? 0.5 : 0);
    decision.rank = static_cast<int64_t>(better) + 1;
    decision.count = static_cast<int64_t>(count) + 1;
  }
  if (const Metric mean = MeanAt(trial, iteration)) means.Insert(*mean);
  if (!decision.cutoff || trial.is_spared) return decision;
  if (value && !IsBetter(*decision.cutoff, *trial.best, mode_)) return decision;
  ++stopped_count_;
  if (options_.hard_stop) {
    decision.verdict = Verdict::kStop;
    decision.cause = StopCause::kScheduler;
    return decision;
  }
  decision.verdict = Verdict::kPause;
  trial.state = State::kPaused;
  --running_count_;
  ResumeIfAlone();
  return decision;
}

void MedianStoppingScheduler::OnTrialEnded(TrialNumber number, bool /*failed*/) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.state != State::kOver);
  // It may end before the orders of its own report are taken.
  std::erase_if(orders_, [&](const Order& order) { return order.trial == number; });
  if (std::exchange(trial.state, State::kOver) == State::kRunning) --running_count_;
  ResumeIfAlone();
}

void MedianStoppingScheduler::OnNoMoreTrials() {
  no_more_trials_ = true;
  ResumeIfAlone();
}

void MedianStoppingScheduler::ResumeIfAlone() {
  if (!no_more_trials_ || running_count_ > 0) return;
  for (size_t i = 0; i < trials_.size(); ++i) {
    const TrialNumber number{static_cast<int64_t>(i)};
    Trial& trial = trials_[number];
    if (trial.state != State::kPaused) continue;
    trial.state = State::kRunning;
    trial.is_spared = true;
    ++running_count_;
    orders_.push_back(Order{Order::Kind::kResume, number});
  }
}

std::vector<Order> MedianStoppingScheduler::TakeOrders() { return std::exchange(orders_, {}); }

std::string MedianStoppingScheduler::DebugString() const {
  return "median_stopping stopped:" + std::to_string(stopped_count_);
}

namespace {

Result<MedianStoppingOptions> ReadMedianStoppingOptions(const Value& map) {
  static constexpr std::array<std::string_view, 4> kOptions = {
      "grace_period", "min_samples_required", "hard_stop", "nan"};
  constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();
  const OptionMap options("scheduler", "median_stopping", map);
  MedianStoppingOptions median;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(options.Read("grace_period", 0, kNoMax, median.grace_period));
  TUNE_RETURN_IF_ERROR(
      options.Read("min_samples_required", 1, kNoMax, median.min_samples_required));
  TUNE_RETURN_IF_ERROR(options.Read("hard_stop", median.hard_stop));
  TUNE_RETURN_IF_ERROR(ReadNanRule(options, median.nan));
  return median;
}

}  // namespace

Result<std::unique_ptr<TrialScheduler>> MakeMedianStoppingScheduler(const Value& map, Mode mode,
                                                                    uint64_t /*seed*/) {
  TUNE_ASSIGN_OR_RETURN(const MedianStoppingOptions options, ReadMedianStoppingOptions(map));
  return std::unique_ptr<TrialScheduler>(std::make_unique<MedianStoppingScheduler>(options, mode));
}

bool MedianStoppingPauses(const Value& map) {
  const Result<MedianStoppingOptions> options = ReadMedianStoppingOptions(map);
  TUNE_CHECK(options.ok());
  return !options->hard_stop;
}

}  // namespace tune
