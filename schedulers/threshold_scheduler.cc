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
  if (!is_due || !value) return decision;
  const bool is_below = *value < options_.lower;
  if (!is_below && !(*value > options_.upper)) return decision;
  decision.verdict = Verdict::kStop;
  decision.cause = StopCause::kScheduler;
  decision.rung = iteration;
  decision.cutoff = is_below ? options_.lower : options_.upper;
  ++stopped_count_;
  return decision;
}

std::string ThresholdScheduler::DebugString() const {
  return "threshold stopped:" + std::to_string(stopped_count_);
}

Result<std::unique_ptr<TrialScheduler>> MakeThresholdScheduler(const Value& map, Mode /*mode*/,
                                                               uint64_t /*seed*/) {
  static constexpr std::array<std::string_view, 4> kOptions = {"lower", "upper", "n_warmup_steps",
                                                               "interval_steps"};
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const OptionMap options("scheduler", "threshold", map);
  ThresholdOptions threshold;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(options.Read("lower", -kInf, kInf, threshold.lower));
  TUNE_RETURN_IF_ERROR(options.Read("upper", -kInf, kInf, threshold.upper));
  TUNE_RETURN_IF_ERROR(ReadCheckInterval(options, threshold.interval));
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
