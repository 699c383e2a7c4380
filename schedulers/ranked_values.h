// Values in order, with their ranks.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>

#include "core/metric.h"
#include "schedulers/ordered_blocks.h"

namespace tune {

class RankedValues {
 public:
  explicit RankedValues(Mode mode) : mode_(mode) {}

  // Not NaN. Returns how many are better.
  size_t Insert(double value);
  size_t size() const { return items_.size(); }
  // The value with `index` others before it from the worst side. Requires index < size().
  double FromWorst(size_t index) const;
  size_t CountBetterThan(double value) const;

  // The value at whole + t from the worst side, interpolated linearly between its neighbours as
  // numpy does it, to the last bit; between an infinity and another value the worse of both.
  // Requires 0 <= t < 1, whole < size(), and t == 0 at the last.
  double At(size_t whole, double t) const;

 private:
  // The smaller the better; its own inverse.
  double Turned(double value) const { return AsLoss(value, mode_); }

  Mode mode_;
  OrderedBlocks items_;  // From the best to the worst; without tags.
};

}  // namespace tune
