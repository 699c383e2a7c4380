#include "models/cuda/create.cuh"
#include "models/cuda/network.h"

namespace tune::models::cuda {

Result<std::string> CardName() {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<CudaCard> card, CudaCard::Open());
  return card->name();
}

Result<std::unique_ptr<MobileNetV2>> CreateNetwork(const NetworkOptions& options, uint64_t seed) {
  return options.precision == Precision::kBf16 ? CreateBf16Network(options, seed)
                                               : CreateFp32Network(options, seed);
}

Result<std::unique_ptr<BatchRunner>> MakeBatchRunner(MobileNetV2& network,
                                                     std::shared_ptr<const Dataset> dataset) {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<BatchRunner> runner, MakeBf16Runner(network, dataset));
  if (runner != nullptr) return Result<std::unique_ptr<BatchRunner>>(std::move(runner));
  return MakeFp32Runner(network, std::move(dataset));
}

Result<std::unique_ptr<GradientExchange>> MakeExchange(MobileNetV2& network, AllReduce& ranks) {
  return network.options().precision == Precision::kBf16 ? MakeBf16Exchange(network, ranks)
                                                         : MakeFp32Exchange(network, ranks);
}

Result<std::unique_ptr<LaneRunner>> MakeLaneRunner(const NetworkOptions& options,
                                                   std::shared_ptr<const Dataset> dataset) {
  return options.precision == Precision::kBf16 ? MakeBf16Lanes(options, std::move(dataset))
                                               : MakeFp32Lanes(options, std::move(dataset));
}

}  // namespace tune::models::cuda
