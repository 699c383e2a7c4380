#include "models/cuda/create.cuh"

namespace tune::models::cuda {

Result<std::unique_ptr<MobileNetV2>> CreateBf16Network(const NetworkOptions& options,
                                                       uint64_t seed) {
  return CreateOn<Bf16>(options, seed);
}

Result<std::unique_ptr<BatchRunner>> MakeBf16Runner(MobileNetV2& network,
                                                    std::shared_ptr<const Dataset> dataset) {
  return MakeRunnerOn<Bf16>(network, std::move(dataset));
}

Result<std::unique_ptr<GradientExchange>> MakeBf16Exchange(MobileNetV2& network, AllReduce& ranks) {
  return MakeExchangeOn<Bf16>(network, ranks);
}

Result<std::unique_ptr<LaneRunner>> MakeBf16Lanes(const NetworkOptions& options,
                                                  std::shared_ptr<const Dataset> dataset) {
  return MakeLanesOn<Bf16>(options, std::move(dataset));
}

}  // namespace tune::models::cuda
