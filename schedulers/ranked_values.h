// Values in order from worst to best, with their ranks: what a rung is made of.
//
// Sorted blocks of bounded length: an insertion moves at most one block's values, a rank adds up
// the blocks' lengths. For the 100,000 values that a large sweep puts in a rung both take a
// fraction of a microsecond.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "core/metric.h"

namespace tune {

class RankedValues {
 public:
  explicit RankedValues(Mode mode) : mode_(mode) {}

  void Insert(double value);  // Not NaN.
  size_t size() const { return size_; }
  // The value with `index` others before it from the worst side. Requires index < size().
  double FromWorst(size_t index) const;
  size_t CountBetterThan(double value) const;

 private:
  static constexpr size_t kBlockMax = 512;

  bool IsWorse(double a, double b) const { return IsBetter(b, a, mode_); }

  Mode mode_;
  size_t size_ = 0;
  // No block is empty; bests_[i] is blocks_[i].back(), kept together to be searched fast.
  std::vector<std::vector<double>> blocks_;
  std::vector<double> bests_;
};

}  // namespace tune
