// What networks_of.h declares.
#pragma once

#include <memory>
#include <utility>

#include "models/cuda/card_buckets.h"
#include "models/cuda/card_lanes.h"
#include "models/cuda/card_network.h"
#include "models/cuda/cuda_card.cuh"
#include "models/cuda/networks_of.h"

namespace tune::models::cuda {

template <class T>
Result<std::unique_ptr<MobileNetV2>> NetworksOf<T>::Create(const NetworkOptions& options,
                                                           uint64_t seed) {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<CudaCard> card, CudaCard::Open());
  using Network = CardNetwork<CudaCard, T>;
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                        Network::Make(std::move(card), options, seed));
  return std::unique_ptr<MobileNetV2>(std::move(network));
}

template <class T>
Result<std::unique_ptr<BatchRunner>> NetworksOf<T>::MakeBatchRunner(
    MobileNetV2& network, std::shared_ptr<const Dataset> dataset) {
  auto* const on_card = dynamic_cast<CardNetwork<CudaCard, T>*>(&network);
  if (on_card == nullptr) return std::unique_ptr<BatchRunner>();
  using Runner = CardBatchRunner<CudaCard, T>;
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner, Runner::Make(*on_card, std::move(dataset)));
  return std::unique_ptr<BatchRunner>(std::move(runner));
}

template <class T>
Result<std::unique_ptr<GradientExchange>> NetworksOf<T>::MakeExchange(MobileNetV2& network,
                                                                      AllReduce& ranks) {
  auto* const on_card = dynamic_cast<CardNetwork<CudaCard, T>*>(&network);
  if (on_card == nullptr) return std::unique_ptr<GradientExchange>();
  return MakeCardBuckets(on_card->device(), ranks);
}

template <class T>
Result<std::unique_ptr<LaneRunner>> NetworksOf<T>::MakeLaneRunner(
    const NetworkOptions& options, std::shared_ptr<const Dataset> dataset) {
  return std::unique_ptr<LaneRunner>(
      new CardLaneRunner<CudaCard, T>(&CudaCard::Open, options, std::move(dataset)));
}

}  // namespace tune::models::cuda
