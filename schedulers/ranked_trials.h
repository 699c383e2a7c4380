// Trials in order of what they reported at a rung, the best first; of equals the earlier trial.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ids.h"
#include "core/metric.h"
#include "schedulers/ordered_blocks.h"

namespace tune {

class RankedTrials {
 public:
  explicit RankedTrials(Mode mode) : mode_(mode) {}

  struct Inserted {
    size_t place = 0;   // 0 for the best.
    size_t better = 0;  // How many have a better value.
  };
  // Not NaN.
  Inserted Insert(TrialNumber trial, double value);
  // Requires that it was inserted so.
  void Erase(TrialNumber trial, double value);
  size_t size() const { return items_.size(); }
  struct Entry {
    TrialNumber trial;
    double value = 0;
  };
  // Requires place < size().
  Entry At(size_t place) const;
  size_t CountBetterThan(double value) const;
  // The same for the value of the entry at this place: as many as stand before it but for its
  // equals, and seldom looked for.
  size_t CountBetterThan(double value, size_t place) const;

 private:
  // The smaller the better.
  OrderedBlocks::Item ItemOf(TrialNumber trial, double value) const;
  double Turned(double value) const { return AsLoss(value, mode_); }

  Mode mode_;
  OrderedBlocks items_;
};

}  // namespace tune
