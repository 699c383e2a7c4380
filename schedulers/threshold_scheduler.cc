#include "schedulers/threshold_scheduler.h"

#include <array>

#include "core/input_error.h"
#include "core/json.h"
#include "core/option_map.h"

namespace tune {

Decision ThresholdScheduler::OnReport(TrialNumber trial, int64_t iteration, Metric value) {
  Decision decision;
  const bool is_due = options_.interval.IsDue(iteration, previous_[trial]);
  previous_[trial] = iteration;
  value = Finite(value);
  if (!is_due || (!value && options_.nan == NanRule::kContinue)) return decision;
  if (value && *value < options_.lower) decision.cutoff = options_.lower;
  if (value && *value > options_.upper) decision.cutoff = options_.upper;
  if (value && !decision.cutoff) return decision;
  decision.verdict = Verdict::kStop;
  decision.cause = StopCause::kScheduler;
  decision.rung = iteration;
  ++stopped_count_;
  return decision;
}

std::string ThresholdScheduler::DebugString() const {
  return "threshold stopped:" + std::to_string(stopped_count_);
}

Result<std::unique_ptr<TrialScheduler>> MakeThresholdScheduler(const Value& map, Mode /*mode*/,
                                                               uint64_t /*seed*/) {
  static constexpr std::array<std::string_view, 5> kOptions = {"lower", "upper", "n_warmup_steps",
                                                               "interval_steps", "nan"};
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const OptionMap options("scheduler", "threshold", map);
  ThresholdOptions threshold;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(options.Read("lower", -kInf, kInf, threshold.lower));
  TUNE_RETURN_IF_ERROR(options.Read("upper", -kInf, kInf, threshold.upper));
  TUNE_RETURN_IF_ERROR(ReadCheckInterval(options, threshold.interval));
  TUNE_RETURN_IF_ERROR(ReadNanRule(options, threshold.nan));
  if (options.Find("lower") == nullptr && options.Find("upper") == nullptr) {
    return InvalidAt(map.place,
                     "scheduler: threshold needs lower or upper, as in {threshold: "
                     "{upper: 100.0}}");
  }
  if (threshold.lower > threshold.upper) {
    return InvalidAt(options.PlaceOf("lower"),
                     "scheduler: lower is " + ToJson(Value(threshold.lower)) + " and upper is " +
                         ToJson(Value(threshold.upper)) + "; lower must not be above upper");
  }
  return std::unique_ptr<TrialScheduler>(std::make_unique<ThresholdScheduler>(threshold));
}

}  // namespace tune
