// The built-in trainable `curve`: a closed-form learning curve. What it is and what it draws; the
// process that acts it out is worker/curve_trial_main.cc.
//
//   curve:
//     value: "(x - 0.3)^2 + exp(-0.2 * t)"   # over the parameters and t, the iteration from 1
//                               # or values: {loss: "...", latency: "..."} for several metrics
//     iterations: 20            # default 1
//     seconds: 0                # per iteration; may be an expression too
//     noise: 0.0                # deviation of a normal draw keyed by (seed, trial, iteration)
//     crash: 0.0                # probability per iteration that the process dies; keyed by
//                               # attempt too
//     hang: 0.0                 # the same for going silent,
//     out_of_memory: 0.0        #   for finding no memory,
//     device_out_of_memory: 0.0 #   for finding none on the device,
//     bad_config: 0.0           #   for saying that the configuration cannot work
//     checkpoint_bytes: 0       # a checkpoint is a folder of that size on disk, verified when it
//                               # is gone on from; 0: it is its iteration and nothing else
//
// Thread rule: values; immutable once made, any thread may use them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/expression.h"
#include "core/metric.h"
#include "core/status.h"
#include "core/value.h"

namespace tune {

// What its expressions call the iteration.
inline constexpr char kCurveIteration[] = "t";

// What happens in one iteration, in this order: it waits, it may go wrong in one of these ways, it
// reports.
struct CurveStep {
  double seconds = 0;
  bool crashes = false;
  bool hangs = false;
  bool is_out_of_memory = false;
  bool is_out_of_device_memory = false;
  bool is_bad_config = false;
  std::vector<double> values;  // One for each of Curve::MetricNames.
};

// A curve with the parameters of one trial.
class BoundCurve {
 public:
  // Iterations count from 1. Noise is keyed by (seed, trial, iteration), what goes wrong by the
  // attempt too.
  CurveStep Step(uint64_t seed, int64_t trial, int64_t attempt, int64_t iteration) const;
  // What it reports: `sweep_metric` is the name of a lone `value`.
  Metrics MetricsOf(const CurveStep& step, const std::string& sweep_metric) const;
  int64_t iterations() const;
  int64_t checkpoint_bytes() const;

 private:
  friend class Curve;
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

class Curve {
 public:
  // `options`: what stands under `curve`. Errors name the option, with the place it was read from.
  static Result<Curve> Parse(const Value& options);

  // Of `values`; of a lone `value`, which is the sweep's metric, one empty name.
  const std::vector<std::string>& MetricNames() const { return metric_names_; }
  // The flat names that its expressions use, without t. One that does not exist under a trial's
  // conditions counts as 0 there.
  std::vector<std::string> ParameterNames() const;
  int64_t iterations() const { return iterations_; }
  int64_t checkpoint_bytes() const { return checkpoint_bytes_; }

  // `config`: nested, as a trial gets it. Errors name the parameter.
  Result<BoundCurve> Bind(const Value& config) const;

 private:
  friend class BoundCurve;
  explicit Curve(Expression seconds) : seconds_(std::move(seconds)) {}
  Status ReadValues(const Value& options);

  std::vector<std::string> metric_names_;
  std::vector<Expression> values_;
  Expression seconds_;
  int64_t iterations_ = 1;
  double noise_ = 0;
  double crash_ = 0;
  double hang_ = 0;
  double out_of_memory_ = 0;
  double device_out_of_memory_ = 0;
  double bad_config_ = 0;
  int64_t checkpoint_bytes_ = 0;
};

}  // namespace tune
