// Trials that follow the formula of the trainable `curve` (trial_runner/curve.h), its noise and its
// misfortunes too: what a real sweep of the same seed would report.
//
// Thread rule: as TrialCurves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "core/value.h"
#include "trial_runner/curve.h"
#include "tuner/simulate/trial_curves.h"

namespace tune {

class FormulaCurves final : public TrialCurves {
 public:
  // `options`: what stands under `curve`. Errors carry "line:column: ".
  static Result<std::unique_ptr<FormulaCurves>> Make(const Value& options,
                                                     const std::string& metric, uint64_t seed);

  std::unique_ptr<AttemptCurve> Begin(const AttemptRef& attempt, const Configuration& configuration,
                                      int64_t from_iteration) override;
  int64_t iterations_max() const override { return curve_.iterations(); }

 private:
  FormulaCurves(Curve curve, std::string metric, uint64_t seed)
      : curve_(std::move(curve)), metric_(std::move(metric)), seed_(seed) {}

  Curve curve_;
  std::string metric_;
  uint64_t seed_;
};

}  // namespace tune
