#include "schedulers/hyperband_scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/input_error.h"
#include "core/option_map.h"
#include "schedulers/asha_promotion_scheduler.h"
#include "schedulers/asha_scheduler.h"
#include "schedulers/brackets.h"
#include "schedulers/rung_levels.h"

namespace tune {

HyperbandScheduler::HyperbandScheduler(int64_t max_t, int64_t reduction_factor, Mode mode)
    : levels_(RungLevelsFromTop(max_t, reduction_factor)),
      reduction_factor_(reduction_factor),
      mode_(mode) {
  for (size_t lowest = 0; lowest < levels_.size(); ++lowest) {
    std::vector<RungView>& views = views_.emplace_back();
    for (size_t k = lowest; k < levels_.size(); ++k) {
      views.push_back(RungView{static_cast<int64_t>(lowest), levels_[k], 0, std::nullopt});
    }
  }
}

void HyperbandScheduler::OnTrialAdded(TrialNumber number) {
  Trial& trial = trials_.Add(number);
  TUNE_CHECK(trial.state == State::kNew || trial.state == State::kOver);
  if (trial.state == State::kNew || trial.has_reported ||
      trial.rung != brackets_[trial.bracket].rung) {
    Join(number);
    return;
  }
  trial.state = State::kRunning;
  ++brackets_[trial.bracket].running_count;
}

void HyperbandScheduler::Join(TrialNumber number) {
  if (brackets_.empty() || brackets_.back().is_closed) {
    const size_t lowest = brackets_.empty() ? 0 : (brackets_.back().lowest + 1) % levels_.size();
    const int64_t halvings_max = static_cast<int64_t>(levels_.size()) - 1;
    const int64_t halvings = halvings_max - static_cast<int64_t>(lowest);
    brackets_.emplace_back(lowest, BracketSize(halvings, halvings_max, reduction_factor_), mode_);
  }
  Bracket& bracket = brackets_.back();
  trials_[number] = Trial{State::kRunning, brackets_.size() - 1, bracket.rung};
  ++bracket.running_count;
  bracket.is_closed = ++bracket.entered_count == bracket.size_planned;
}

Decision HyperbandScheduler::OnReport(TrialNumber number, int64_t iteration, Metric value) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.state == State::kRunning);
  value = Finite(value);
  Decision decision;
  const int64_t milestone = levels_[trial.rung];
  if (iteration < milestone) return decision;
  decision.rung = milestone;
  Bracket& bracket = brackets_[trial.bracket];
  const bool is_over = iteration >= levels_.back();
  decision.verdict = is_over ? Verdict::kStop : Verdict::kPause;
  decision.cause = is_over ? StopCause::kMaxT : StopCause::kNone;
  trial.has_reported = true;
  trial.value = value;
  ++views_[bracket.lowest][trial.rung - bracket.lowest].count;
  if (value) {
    decision.rank = static_cast<int64_t>(bracket.finished.Insert(number, *value).better) + 1;
    decision.count = static_cast<int64_t>(bracket.finished.size());
  } else {
    bracket.valueless.push_back(number);
  }
  if (is_over) return decision;  // Its end is told next.
  trial.state = State::kPaused;
  --bracket.running_count;
  DecideIfComplete(bracket);
  return decision;
}

Decision HyperbandScheduler::OnLastReport(TrialNumber number, int64_t iteration, Metric value) {
  return iteration >= levels_.back() ? OnReport(number, iteration, value) : Decision{};
}

bool HyperbandScheduler::PausesAt(TrialNumber number, int64_t iteration) const {
  return iteration >= levels_[trials_[number].rung] && iteration < levels_.back();
}

void HyperbandScheduler::OnTrialEnded(TrialNumber number, bool /*failed*/) {
  Trial& trial = trials_[number];
  Bracket& bracket = brackets_[trial.bracket];
  // It may end before the orders of its own report are taken.
  std::erase_if(orders_, [&](const Order& order) { return order.trial == number; });
  TUNE_CHECK(trial.state != State::kNew);
  if (trial.state == State::kOver) return;  // It was to be stopped.
  if (trial.state == State::kRunning) --bracket.running_count;
  if (trial.has_reported && trial.value) bracket.finished.Erase(number, *trial.value);
  if (trial.has_reported && !trial.value) std::erase(bracket.valueless, number);
  trial.state = State::kOver;
  DecideIfComplete(bracket);
}

void HyperbandScheduler::OnNoMoreTrials() {
  if (brackets_.empty() || brackets_.back().is_closed) return;
  brackets_.back().is_closed = true;
  DecideIfComplete(brackets_.back());
}

// The best first, those without a value last.
std::vector<TrialNumber> HyperbandScheduler::Waiting(const Bracket& bracket) const {
  std::vector<TrialNumber> waiting;
  for (size_t i = 0; i < bracket.finished.size(); ++i) {
    waiting.push_back(bracket.finished.At(i).trial);
  }
  waiting.insert(waiting.end(), bracket.valueless.begin(), bracket.valueless.end());
  return waiting;
}

void HyperbandScheduler::DecideIfComplete(Bracket& bracket) {
  if (!bracket.is_closed || bracket.running_count > 0 || bracket.rung >= levels_.size()) return;
  const std::vector<TrialNumber> waiting = Waiting(bracket);
  const size_t pass_max =
      static_cast<size_t>(std::max<int64_t>(1, bracket.entered_count / reduction_factor_));
  const size_t pass_count = std::min(pass_max, bracket.finished.size());
  RungView& view = views_[bracket.lowest][bracket.rung - bracket.lowest];
  if (pass_count > 0) view.cutoff = trials_[waiting[pass_count - 1]].value;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const bool passes = i < pass_count;
    orders_.push_back(OrderFor(passes ? Order::Kind::kResume : Order::Kind::kStop, waiting[i]));
  }
  for (size_t i = 0; i < waiting.size(); ++i) {
    Trial& trial = trials_[waiting[i]];
    trial.state = i < pass_count ? State::kRunning : State::kOver;
    if (i >= pass_count) continue;
    trial.rung = bracket.rung + 1;
    trial.has_reported = false;
  }
  bracket.rung = pass_count == 0 ? levels_.size() : bracket.rung + 1;
  bracket.entered_count = bracket.running_count = static_cast<int64_t>(pass_count);
  bracket.finished = RankedTrials(mode_);
  bracket.valueless.clear();
}

// Requires that the view has the cutoff of this decision.
Order HyperbandScheduler::OrderFor(Order::Kind kind, TrialNumber number) const {
  const Trial& trial = trials_[number];
  const Bracket& bracket = brackets_[trial.bracket];
  Order order{kind, number};
  order.rung = levels_[bracket.rung];
  if (!trial.value) return order;
  order.cutoff = views_[bracket.lowest][bracket.rung - bracket.lowest].cutoff;
  order.rank = static_cast<int64_t>(bracket.finished.CountBetterThan(*trial.value)) + 1;
  order.count = bracket.entered_count;
  return order;
}

std::vector<Order> HyperbandScheduler::TakeOrders() { return std::exchange(orders_, {}); }

std::vector<RungView> HyperbandScheduler::Rungs() const {
  std::vector<RungView> all;
  for (const auto& views : views_) all.insert(all.end(), views.begin(), views.end());
  return all;
}

std::string HyperbandScheduler::DebugString() const {
  std::string text = "hyperband" + DescribeRungs(Rungs());
  if (brackets_.empty()) return text;
  const Bracket& last = brackets_.back();
  return text + " brackets:" + std::to_string(brackets_.size()) +
         " running:" + std::to_string(last.running_count);
}

namespace {

constexpr std::array<std::string_view, 5> kHyperbandOptions = {"max_t", "reduction_factor",
                                                               "variant", "paused_max", "nan"};

enum class Variant { kSync, kAsync, kAsyncPromote };

// Names and defaults of the first two as in Ray.
struct HyperbandOptions {
  int64_t max_t = 81;
  int64_t reduction_factor = 3;
  Variant variant = Variant::kSync;
  std::optional<int64_t> paused_max;
  NanRule nan = NanRule::kStop;
};

Result<HyperbandOptions> ReadHyperbandOptions(const Value& map) {
  constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();
  constexpr std::array<std::string_view, 3> kVariants = {"sync", "async", "async_promote"};
  const OptionMap options("scheduler", "hyperband", map);
  HyperbandOptions hyperband;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kHyperbandOptions));
  TUNE_RETURN_IF_ERROR(options.Read("max_t", 1, kNoMax, hyperband.max_t));
  TUNE_RETURN_IF_ERROR(options.Read("reduction_factor", 2, kNoMax, hyperband.reduction_factor));
  size_t variant = 0;
  TUNE_RETURN_IF_ERROR(options.Read("variant", kVariants, variant));
  hyperband.variant = static_cast<Variant>(variant);
  if (options.Find("paused_max") != nullptr) {
    if (hyperband.variant != Variant::kAsyncPromote) {
      return InvalidAt(options.PlaceOf("paused_max"),
                       "scheduler: paused_max: only the variant async_promote has a choice whom to "
                       "keep paused");
    }
    TUNE_RETURN_IF_ERROR(options.Read("paused_max", 1, kNoMax, hyperband.paused_max.emplace(1)));
  }
  if (options.Find("nan") != nullptr && hyperband.variant != Variant::kAsync) {
    return InvalidAt(options.PlaceOf("nan"),
                     "scheduler: nan: a trial without a finite value never passes a rung; only the "
                     "variant async has a choice");
  }
  TUNE_RETURN_IF_ERROR(ReadNanRule(options, hyperband.nan));
  return hyperband;
}

}  // namespace

Result<std::unique_ptr<TrialScheduler>> MakeHyperbandScheduler(const Value& map, Mode mode,
                                                               uint64_t seed) {
  TUNE_ASSIGN_OR_RETURN(const HyperbandOptions options, ReadHyperbandOptions(map));
  std::unique_ptr<TrialScheduler> made;
  switch (options.variant) {
    case Variant::kSync:
      made = std::make_unique<HyperbandScheduler>(options.max_t, options.reduction_factor, mode);
      break;
    case Variant::kAsync:
      made = std::make_unique<AshaScheduler>(
          "hyperband", HyperbandBrackets(options.max_t, options.reduction_factor), options.nan,
          mode, seed);
      break;
    case Variant::kAsyncPromote:
      made = std::make_unique<AshaPromotionScheduler>(
          "hyperband", HyperbandBrackets(options.max_t, options.reduction_factor),
          options.paused_max, mode, seed);
      break;
  }
  return made;
}

std::optional<int64_t> HyperbandMaxT(const Value& map) {
  const Result<HyperbandOptions> options = ReadHyperbandOptions(map);
  TUNE_CHECK(options.ok());
  return options->max_t;
}

bool HyperbandPauses(const Value& map) {
  const Result<HyperbandOptions> options = ReadHyperbandOptions(map);
  TUNE_CHECK(options.ok());
  return options->variant != Variant::kAsync;
}

}  // namespace tune
