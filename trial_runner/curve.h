// The built-in trainable `curve`: a closed-form learning curve (product: section 5). What it is and
// what it draws; the process that acts it out is worker/curve_trial_main.cc.
//
// Thread rule: values; immutable once made, any thread may use them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/expression.h"
#include "core/status.h"
#include "core/value.h"

namespace tune {

// What happens in one iteration, in this order: it waits, it may crash or fall silent, it reports.
struct CurveStep {
  double seconds = 0;
  bool crashes = false;
  bool hangs = false;
  double value = 0;
};

// A curve with the parameters of one trial.
class BoundCurve {
 public:
  // Iterations count from 1. Noise is keyed by (seed, trial, iteration), crash and hang by the
  // attempt too.
  CurveStep Step(uint64_t seed, int64_t trial, int64_t attempt, int64_t iteration) const;
  int64_t iterations() const;

 private:
  friend class Curve;
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

class Curve {
 public:
  // `options`: what stands under `curve`. Errors name the option, with the place it was read from.
  static Result<Curve> Parse(const Value& options);

  // The flat names that its expressions use, without t.
  std::vector<std::string> ParameterNames() const;

  // `config`: nested, as a trial gets it. Errors name the parameter.
  Result<BoundCurve> Bind(const Value& config) const;

 private:
  friend class BoundCurve;
  Curve(Expression value, Expression seconds)
      : value_(std::move(value)), seconds_(std::move(seconds)) {}

  Expression value_;
  Expression seconds_;
  int64_t iterations_ = 1;
  double noise_ = 0;
  double crash_ = 0;
  double hang_ = 0;
};

}  // namespace tune
