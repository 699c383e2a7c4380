// The two networks of network.h, each compiled alone: the kernels are the long part of the build.
//
// Thread rule and errors: network.h.
#pragma once

#include <memory>
#include <utility>

#include "models/cuda/card_network.h"
#include "models/cuda/cuda_card.cuh"

namespace tune::models::cuda {

Result<std::unique_ptr<MobileNetV2>> CreateBf16Network(const NetworkOptions& options,
                                                       uint64_t seed);
Result<std::unique_ptr<MobileNetV2>> CreateFp32Network(const NetworkOptions& options,
                                                       uint64_t seed);
// Null where the network is another one.
Result<std::unique_ptr<BatchRunner>> MakeBf16Runner(MobileNetV2& network,
                                                    std::shared_ptr<const Dataset> dataset,
                                                    const AugmentationOptions& augmentation);
Result<std::unique_ptr<BatchRunner>> MakeFp32Runner(MobileNetV2& network,
                                                    std::shared_ptr<const Dataset> dataset,
                                                    const AugmentationOptions& augmentation);

template <class T>
Result<std::unique_ptr<MobileNetV2>> CreateOn(const NetworkOptions& options, uint64_t seed) {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<CudaCard> card, CudaCard::Open());
  using Network = CardNetwork<CudaCard, T>;
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                        Network::Make(std::move(card), options, seed));
  return std::unique_ptr<MobileNetV2>(std::move(network));
}

template <class T>
Result<std::unique_ptr<BatchRunner>> MakeRunnerOn(MobileNetV2& network,
                                                  std::shared_ptr<const Dataset> dataset,
                                                  const AugmentationOptions& augmentation) {
  auto* const on_card = dynamic_cast<CardNetwork<CudaCard, T>*>(&network);
  if (on_card == nullptr) return std::unique_ptr<BatchRunner>();
  return CardBatchRunner<CudaCard, T>::Make(*on_card, std::move(dataset), augmentation);
}

}  // namespace tune::models::cuda
