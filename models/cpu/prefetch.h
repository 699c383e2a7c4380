// Memory that will be read next, brought into the second-level cache a few lines at a time while
// the processor computes: without it a pass first computes, with memory idle, and then waits for
// memory.
//
// Thread rule: a value of one thread.
#pragma once

#include <cstdint>

namespace tune::models::cpu {

class Prefetch {
 public:
  void Clear() { count_ = 0; }

  // At most four ranges between two Clears. A null `begin` is no range.
  void Add(const float* begin, int64_t floats) {
    if (begin == nullptr || floats <= 0) return;
    ranges_[count_++] = {begin, begin + floats};
    lines_ += (floats + kLineFloats - 1) / kLineFloats;
  }

  // Cuts the work into about `steps` calls of Step().
  void Spread(int64_t steps) {
    pace_ = steps > 0 ? (lines_ + steps - 1) / steps : 0;
    lines_ = 0;
    next_ = 0;
    at_ = end_ = nullptr;
  }

  void Step() {
    for (int64_t i = 0; i < pace_; ++i) {
      if (at_ >= end_) {
        if (next_ == count_) {
          pace_ = 0;
          return;
        }
        at_ = ranges_[next_].begin;
        end_ = ranges_[next_++].end;
      }
      __builtin_prefetch(at_, 0, 2);
      at_ += kLineFloats;
    }
  }

 private:
  static constexpr int kLineFloats = 16;
  struct Range {
    const float* begin;
    const float* end;
  };
  Range ranges_[4];
  int count_ = 0;
  int next_ = 0;
  int64_t lines_ = 0;
  int64_t pace_ = 0;
  const float* at_ = nullptr;
  const float* end_ = nullptr;
};

}  // namespace tune::models::cpu
