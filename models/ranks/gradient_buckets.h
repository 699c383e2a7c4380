// Adds up gradients by buckets, in a thread of its own: while the backward pass computes the
// gradients of earlier layers, those of later ones are under way.
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
#include "models/ranks/bucket_queue.h"

namespace tune::models {

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

  std::mutex mutex_;
  std::condition_variable changed_;
  BucketQueue queue_;
  Status status_;           // Of all steps: after an error there are no more.
  bool is_ending_ = false;  // The thread shall end.
  std::thread thread_;
};

}  // namespace tune::models
