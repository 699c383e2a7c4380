#include "tuner/simulate/formula_curves.h"

#include <optional>
#include <utility>

namespace tune {
namespace {

// In the order of trial_runner/worker/curve_trial_main.cc.
std::optional<Outcome> MisfortuneOf(const CurveStep& step) {
  if (step.crashes) return Outcome::kCrashed;
  if (step.hangs) return std::nullopt;
  if (step.is_out_of_memory) return Outcome::kOutOfMemory;
  if (step.is_out_of_device_memory) return Outcome::kDeviceOutOfMemory;
  if (step.is_bad_config) return Outcome::kBadConfig;
  return std::nullopt;
}

class FormulaAttempt final : public AttemptCurve {
 public:
  FormulaAttempt(BoundCurve curve, const std::string& metric, uint64_t seed,
                 const AttemptRef& attempt, int64_t from_iteration)
      : curve_(std::move(curve)),
        metric_(metric),
        seed_(seed),
        attempt_(attempt),
        iteration_(from_iteration) {}

  std::optional<TrialStep> Next() override {
    if (iteration_ >= curve_.iterations()) return std::nullopt;
    ++iteration_;
    const CurveStep step =
        curve_.Step(seed_, attempt_.trial.value, attempt_.attempt.value, iteration_);
    TrialStep next;
    next.iteration = iteration_;
    next.seconds = step.seconds;
    next.ends_as = MisfortuneOf(step);
    if (next.ends_as) {
      next.error = "the curve's " + std::string(OutcomeName(*next.ends_as));
      return next;
    }
    next.hangs = step.hangs;
    next.metrics = curve_.MetricsOf(step, metric_);
    next.final = iteration_ == curve_.iterations();
    return next;
  }

 private:
  BoundCurve curve_;
  const std::string& metric_;
  uint64_t seed_;
  AttemptRef attempt_;
  int64_t iteration_;
};

// A configuration that the formula cannot take.
class RefusedAttempt final : public AttemptCurve {
 public:
  explicit RefusedAttempt(std::string error) : error_(std::move(error)) {}
  std::optional<TrialStep> Next() override {
    TrialStep end;
    end.ends_as = Outcome::kBadConfig;
    end.error = error_;
    return end;
  }

 private:
  std::string error_;
};

}  // namespace

Result<std::unique_ptr<FormulaCurves>> FormulaCurves::Make(const Value& options,
                                                           const std::string& metric,
                                                           uint64_t seed) {
  TUNE_ASSIGN_OR_RETURN(Curve curve, Curve::Parse(options));
  return std::unique_ptr<FormulaCurves>(new FormulaCurves(std::move(curve), metric, seed));
}

std::unique_ptr<AttemptCurve> FormulaCurves::Begin(const AttemptRef& attempt,
                                                   const Configuration& configuration,
                                                   int64_t from_iteration) {
  Result<BoundCurve> bound = curve_.Bind(configuration.ToNested());
  if (!bound.ok()) return std::make_unique<RefusedAttempt>(bound.status().message());
  return std::make_unique<FormulaAttempt>(*std::move(bound), metric_, seed_, attempt,
                                          from_iteration);
}

}  // namespace tune
