// Built in place of the CUDA sources where there is no CUDA compiler.
#include "models/cuda/network.h"

namespace tune::models::cuda {

Result<std::string> CardName() {
  return FailedPrecondition("built without CUDA; use device cpu, or build where nvcc is");
}

Result<std::unique_ptr<MobileNetV2>> CreateNetwork(const NetworkOptions&, uint64_t) {
  return CardName().status();
}

Result<std::unique_ptr<BatchRunner>> MakeBatchRunner(MobileNetV2&, std::shared_ptr<const Dataset>,
                                                     const AugmentationOptions&) {
  return std::unique_ptr<BatchRunner>();
}

}  // namespace tune::models::cuda
