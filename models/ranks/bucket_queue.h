// Cuts gradients that become ready from their array's end into buckets, the last ones first. The
// borders depend on the array's length alone, so whoever adds up by them gets the same bits each
// time.
//
// Thread rule: one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace tune::models {

// 1 MiB: MobileNetV2's gradients are nine of them.
inline constexpr int64_t kBucketFloats = int64_t{1} << 18;

class BucketQueue {
 public:
  explicit BucketQueue(int64_t bucket_floats) : bucket_floats_(bucket_floats) {}

  void Begin(std::span<float> gradients) {
    gradients_ = gradients;
    ready_ = left_ = static_cast<int64_t>(gradients.size());
    is_last_ = false;
  }
  // All from `begin` on is ready.
  void Ready(int64_t begin) { ready_ = begin; }
  // Nothing more becomes ready: the rest is a bucket too, however small.
  void End() { is_last_ = true; }

  // The next bucket that can go, or an empty one; Pop() when it has gone.
  std::span<float> Front() const {
    const int64_t whole = left_ - bucket_floats_;
    const int64_t begin = is_last_ ? std::max(whole, ready_) : whole;
    if (begin < ready_) return {};
    return gradients_.subspan(static_cast<size_t>(begin), static_cast<size_t>(left_ - begin));
  }
  void Pop() { left_ -= static_cast<int64_t>(Front().size()); }

 private:
  const int64_t bucket_floats_;
  std::span<float> gradients_;
  int64_t ready_ = 0;     // From here on.
  int64_t left_ = 0;      // What is before this has not gone.
  bool is_last_ = false;  // Nothing more becomes ready in this step.
};

}  // namespace tune::models
