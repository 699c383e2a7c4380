// Built in place of the CUDA sources where there is no CUDA compiler.
#include "models/cuda/network.h"

namespace tune::models::cuda {

Result<std::string> CardName() {
  return FailedPrecondition("built without CUDA; use device cpu, or build where nvcc is");
}

Result<std::unique_ptr<MobileNetV2>> CreateNetwork(const NetworkOptions&, uint64_t) {
  return CardName().status();
}

Result<std::unique_ptr<BatchRunner>> MakeBatchRunner(MobileNetV2&, std::shared_ptr<const Dataset>) {
  return std::unique_ptr<BatchRunner>();
}

Result<std::unique_ptr<GradientExchange>> MakeExchange(MobileNetV2&, AllReduce&) {
  return std::unique_ptr<GradientExchange>();
}

Result<std::unique_ptr<LaneRunner>> MakeLaneRunner(const NetworkOptions&,
                                                   std::shared_ptr<const Dataset>) {
  return CardName().status();
}

}  // namespace tune::models::cuda
