// Which epoch of a training run is its best one: the one whose weights are kept, tested and
// exported. In a sweep its metric says so, as it does for the best trial; alone it is the lowest
// val_loss, as in the lab. Patience looks at val_loss always (training_run.h).
//
// Thread rule: immutable.
#pragma once

#include <string>
#include <utility>

#include "core/expression.h"
#include "core/metric.h"

namespace tune::models {

class BestEpochRule {
 public:
  // The lowest val_loss.
  BestEpochRule();
  // `metric`: a name, or an expression of names. Where not every epoch reports what it needs
  // (test_accuracy, or a name that no epoch reports), the rule is the lowest val_loss.
  BestEpochRule(const std::string& metric, Mode mode);

  // What it goes by: "val_loss".
  const std::string& metric() const { return expression_.text(); }
  // Whether it depends on how fast an epoch was.
  bool GoesByTime() const;
  // Nothing where it is not finite.
  Metric ValueOf(const Metrics& epoch) const;
  bool IsBetter(double a, double b) const { return tune::IsBetter(a, b, mode_); }

 private:
  explicit BestEpochRule(Expression expression, Mode mode)
      : expression_(std::move(expression)), mode_(mode) {}

  Expression expression_;
  Mode mode_;
};

}  // namespace tune::models
