// Adds up gradients from card to card by buckets (ranks/bucket_queue.h): each begins when its part
// of the backward pass is done and goes on beside the rest of it. For any Device of lane_network.h
// that has joined the other ranks' (JoinRanks).
//
// Thread rule: as GradientExchange, whose calls are orders to the card. Errors: the device's.
#pragma once

#include <memory>

#include "core/status.h"
#include "models/gradient_exchange.h"
#include "models/ranks/all_reduce.h"
#include "models/ranks/bucket_queue.h"

namespace tune::models::cuda {

template <class Device>
class CardBuckets final : public GradientExchange {
 public:
  // The device outlives it.
  explicit CardBuckets(Device& device, int64_t bucket_floats = kBucketFloats)
      : device_(device), queue_(bucket_floats) {}

  bool is_on_card() const override { return true; }

  void Begin(std::span<float> gradients) override { queue_.Begin(gradients); }
  void Ready(int64_t begin) override {
    queue_.Ready(begin);
    SumWhatIsReady();
  }
  Status Finish() override {
    queue_.End();
    SumWhatIsReady();
    device_.AwaitSums();
    return device_.status();
  }

 private:
  void SumWhatIsReady() {
    for (; !queue_.Front().empty(); queue_.Pop()) {
      const std::span<float> bucket = queue_.Front();
      device_.SumOverRanks(bucket.data(), static_cast<int64_t>(bucket.size()));
    }
  }

  Device& device_;
  BucketQueue queue_;
};

// Joins the other ranks: all of them call it. kFailedPrecondition, on all alike: their cards
// cannot.
template <class Device>
Result<std::unique_ptr<GradientExchange>> MakeCardBuckets(Device& device, AllReduce& ranks,
                                                          int64_t bucket_floats = kBucketFloats) {
  TUNE_RETURN_IF_ERROR(device.JoinRanks(ranks));
  return std::unique_ptr<GradientExchange>(
      std::make_unique<CardBuckets<Device>>(device, bucket_floats));
}

}  // namespace tune::models::cuda
