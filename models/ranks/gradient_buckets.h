// Adds up gradients by buckets, in a thread of its own: while the backward pass computes the
// gradients of earlier layers, those of later ones are under way. The borders of the buckets depend
// on the array's length alone, so the sums are the same bits each time.
//
// Thread rule: as GradientExchange; `ranks` belongs to the thread here from Begin to Finish.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>

#include "core/status.h"
#include "models/gradient_exchange.h"
#include "models/ranks/all_reduce.h"

namespace tune::models {

// 1 MiB: MobileNetV2's gradients are nine of them.
inline constexpr int64_t kBucketFloats = int64_t{1} << 18;

class GradientBuckets final : public GradientExchange {
 public:
  // `ranks` outlives it.
  explicit GradientBuckets(AllReduce& ranks, int64_t bucket_floats = kBucketFloats);
  ~GradientBuckets() override;

  void Begin(std::span<float> gradients) override;
  void Ready(int64_t begin) override;
  Status Finish() override;

 private:
  void Run();
  // The next bucket that can go, or an empty one.
  std::span<float> NextBucket() const;

  AllReduce& ranks_;
  const int64_t bucket_floats_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::span<float> gradients_;
  int64_t ready_ = 0;       // Computed from here on,
  int64_t summed_ = 0;      // and summed from here on.
  bool is_last_ = false;    // Nothing more becomes ready in this step.
  Status status_;           // Of all steps: after an error there are no more.
  bool is_ending_ = false;  // The thread shall end.
  std::thread thread_;
};

}  // namespace tune::models
