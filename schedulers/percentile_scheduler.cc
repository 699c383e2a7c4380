#include "schedulers/percentile_scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/option_map.h"

namespace tune {

PercentileScheduler::PercentileScheduler(const PercentileOptions& options, Mode mode)
    : options_(options), mode_(mode) {}

void PercentileScheduler::OnTrialAdded(TrialNumber number) {
  Trial& trial = trials_.Add(number);
  TUNE_CHECK(!trial.is_live);
  trial.is_live = true;
}

double PercentileScheduler::Cutoff(const RankedValues& values) const {
  const double position =
      (100 - options_.percentile) / 100 * static_cast<double>(values.size() - 1);
  const size_t whole = std::min(static_cast<size_t>(position), values.size() - 1);
  return values.At(whole, whole + 1 == values.size() ? 0 : position - static_cast<double>(whole));
}

Decision PercentileScheduler::OnReport(TrialNumber number, int64_t iteration, Metric value) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.is_live);
  value = Finite(value);
  const bool is_due = options_.interval.IsDue(iteration, trial.previous);
  trial.previous = iteration;
  Decision decision;
  if (!value && options_.nan == NanRule::kContinue) return decision;
  if (value) {
    trial.values.emplace_back(iteration, *value);
    if (!trial.best || IsBetter(*value, *trial.best, mode_)) trial.best = value;
  }
  if (!is_due || completed_count_ < options_.n_startup_trials) return decision;
  const auto found = completed_.find(iteration);
  if (found == completed_.end()) return decision;
  const RankedValues& values = found->second;
  if (static_cast<int64_t>(values.size()) < options_.n_min_trials) return decision;
  decision.rung = iteration;
  decision.cutoff = Cutoff(values);
  const size_t better = value ? values.CountBetterThan(*trial.best) : values.size();
  decision.rank = static_cast<int64_t>(better) + 1;
  decision.count = static_cast<int64_t>(values.size()) + 1;
  if (!value || IsBetter(*decision.cutoff, *trial.best, mode_)) {
    decision.verdict = Verdict::kStop;
    decision.cause = StopCause::kScheduler;
    trial.was_stopped = true;
    ++stopped_count_;
  }
  return decision;
}

void PercentileScheduler::OnTrialEnded(TrialNumber number, bool failed) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.is_live);
  trial.is_live = false;
  if (failed) return;  // It may get another chance.
  if (!trial.was_stopped) {
    ++completed_count_;
    for (const auto& [iteration, value] : trial.values) {
      completed_.try_emplace(iteration, mode_).first->second.Insert(value);
    }
  }
  trial.values = {};
}

std::string PercentileScheduler::DebugString() const {
  return "percentile completed:" + std::to_string(completed_count_) +
         " stopped:" + std::to_string(stopped_count_);
}

Result<std::unique_ptr<TrialScheduler>> MakePercentileScheduler(const Value& map, Mode mode,
                                                                uint64_t /*seed*/) {
  static constexpr std::array<std::string_view, 6> kOptions = {
      "percentile", "n_startup_trials", "n_warmup_steps", "interval_steps", "n_min_trials", "nan"};
  constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();
  const OptionMap options("scheduler", "percentile", map);
  PercentileOptions percentile;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kOptions));
  if (options.Find("percentile") == nullptr) {
    return options.Expected("percentile", "a number from 0 to 100; 50 is the median");
  }
  TUNE_RETURN_IF_ERROR(options.Read("percentile", 0.0, 100.0, percentile.percentile));
  TUNE_RETURN_IF_ERROR(options.Read("n_startup_trials", 0, kNoMax, percentile.n_startup_trials));
  TUNE_RETURN_IF_ERROR(options.Read("n_min_trials", 1, kNoMax, percentile.n_min_trials));
  TUNE_RETURN_IF_ERROR(ReadCheckInterval(options, percentile.interval));
  TUNE_RETURN_IF_ERROR(ReadNanRule(options, percentile.nan));
  return std::unique_ptr<TrialScheduler>(std::make_unique<PercentileScheduler>(percentile, mode));
}

}  // namespace tune
