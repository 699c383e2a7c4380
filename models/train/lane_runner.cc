#include "models/train/lane_runner.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "models/cuda/network.h"

namespace tune::models {
namespace {

class HostLaneRunner final : public LaneRunner {
 public:
  HostLaneRunner(const NetworkOptions& options, std::shared_ptr<const Dataset> dataset)
      : options_(options), dataset_(std::move(dataset)) {
    options_.device = DeviceKind::kCpu;
  }

  Result<NetworkTensors*> Add(uint64_t seed, const LaneResources& resources) override {
    NetworkOptions options = options_;
    options.threads = resources.threads;
    TUNE_ASSIGN_OR_RETURN(std::unique_ptr<MobileNetV2> network, MobileNetV2::Create(options, seed));
    std::unique_ptr<BatchRunner> batches = MakeHostBatchRunner(*network, *dataset_);
    lanes_.push_back({std::move(network), std::move(batches)});
    return lanes_.back().network.get();
  }

  void Remove(NetworkTensors* lane) override { lanes_.erase(Find(lane)); }

  std::vector<Result<BatchResult>> Run(std::span<const LaneStep> steps) override {
    std::vector<Result<BatchResult>> results;
    for (const LaneStep& step : steps) {
      results.push_back(Find(step.lane)->batches->Run(step.step));
    }
    return results;
  }

 private:
  struct Lane {
    std::unique_ptr<MobileNetV2> network;
    std::unique_ptr<BatchRunner> batches;
  };
  std::vector<Lane>::iterator Find(const NetworkTensors* lane) {
    const auto found = std::find_if(lanes_.begin(), lanes_.end(), [lane](const Lane& candidate) {
      return candidate.network.get() == lane;
    });
    TUNE_CHECK(found != lanes_.end());
    return found;
  }

  NetworkOptions options_;
  const std::shared_ptr<const Dataset> dataset_;
  std::vector<Lane> lanes_;
};

}  // namespace

bool AreAlike(const BatchStep& a, const BatchStep& b) {
  // What is evaluated is the same images, so that one who waits does not fall behind.
  return a.split == b.split && a.count == b.count && (a.trains() || a.begin == b.begin);
}

std::unique_ptr<LaneRunner> MakeHostLaneRunner(const NetworkOptions& options,
                                               std::shared_ptr<const Dataset> dataset) {
  return std::make_unique<HostLaneRunner>(options, std::move(dataset));
}

Result<std::unique_ptr<LaneRunner>> MakeLaneRunner(const NetworkOptions& options,
                                                   std::shared_ptr<const Dataset> dataset) {
  TUNE_ASSIGN_OR_RETURN(const PlacedDevice placed, PlaceDevice(options.device));
  if (placed.kind == DeviceKind::kCuda) {
    TUNE_RETURN_IF_ERROR(CheckNetworkOptions(options));
    return cuda::MakeLaneRunner(options, std::move(dataset));
  }
  return MakeHostLaneRunner(options, std::move(dataset));
}

}  // namespace tune::models
