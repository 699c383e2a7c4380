#include "models/cuda/create.cuh"

namespace tune::models::cuda {

Result<std::unique_ptr<MobileNetV2>> CreateFp32Network(const NetworkOptions& options,
                                                       uint64_t seed) {
  return CreateOn<float>(options, seed);
}

Result<std::unique_ptr<BatchRunner>> MakeFp32Runner(MobileNetV2& network,
                                                    std::shared_ptr<const Dataset> dataset) {
  return MakeRunnerOn<float>(network, std::move(dataset));
}

Result<std::unique_ptr<GradientExchange>> MakeFp32Exchange(MobileNetV2& network, AllReduce& ranks) {
  return MakeExchangeOn<float>(network, ranks);
}

Result<std::unique_ptr<LaneRunner>> MakeFp32Lanes(const NetworkOptions& options,
                                                  std::shared_ptr<const Dataset> dataset) {
  return MakeLanesOn<float>(options, std::move(dataset));
}

}  // namespace tune::models::cuda
