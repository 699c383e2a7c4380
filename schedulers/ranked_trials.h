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

  // Not NaN. Returns the trial's place, 0 for the best.
  size_t Insert(TrialNumber trial, double value);
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
  struct Item {
    double key;  // The smaller the better.
    int64_t trial;
    friend bool operator<(const Item& a, const Item& b) {
      return a.key < b.key || (a.key == b.key && a.trial < b.trial);
    }
  };
  double Turned(double value) const { return mode_ == Mode::kMin ? value : -value; }

  Mode mode_;
  OrderedBlocks<Item> items_;
};

}  // namespace tune
