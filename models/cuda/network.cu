#include <utility>

#include "models/cuda/cuda_card.cuh"
#include "models/cuda/network.h"
#include "models/cuda/networks_of.h"
#include "models/cuda/number.h"

namespace tune::models::cuda {
namespace {

// Calls `use` with the networks of a precision.
template <class Use>
auto WithNetworks(Precision precision, const Use& use) {
  return precision == Precision::kBf16 ? use(NetworksOf<Bf16>()) : use(NetworksOf<float>());
}

}  // namespace

Result<std::string> CardName() {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<CudaCard> card, CudaCard::Open());
  return card->name();
}

Result<std::unique_ptr<MobileNetV2>> CreateNetwork(const NetworkOptions& options, uint64_t seed) {
  return WithNetworks(options.precision,
                      [&](auto networks) { return networks.Create(options, seed); });
}

Result<std::unique_ptr<BatchRunner>> MakeBatchRunner(MobileNetV2& network,
                                                     std::shared_ptr<const Dataset> dataset) {
  return WithNetworks(network.options().precision, [&](auto networks) {
    return networks.MakeBatchRunner(network, std::move(dataset));
  });
}

Result<std::unique_ptr<GradientExchange>> MakeExchange(MobileNetV2& network, AllReduce& ranks) {
  return WithNetworks(network.options().precision,
                      [&](auto networks) { return networks.MakeExchange(network, ranks); });
}

Result<std::unique_ptr<LaneRunner>> MakeLaneRunner(const NetworkOptions& options,
                                                   std::shared_ptr<const Dataset> dataset) {
  return WithNetworks(options.precision, [&](auto networks) {
    return networks.MakeLaneRunner(options, std::move(dataset));
  });
}

}  // namespace tune::models::cuda
