// The two networks of network.h, each compiled alone: the kernels are the long part of the build.
//
// Thread rule and errors: network.h.
#pragma once

#include <memory>
#include <utility>

#include "models/cuda/card_buckets.h"
#include "models/cuda/card_lanes.h"
#include "models/cuda/card_network.h"
#include "models/cuda/cuda_card.cuh"

namespace tune::models::cuda {

Result<std::unique_ptr<MobileNetV2>> CreateBf16Network(const NetworkOptions& options,
                                                       uint64_t seed);
Result<std::unique_ptr<MobileNetV2>> CreateFp32Network(const NetworkOptions& options,
                                                       uint64_t seed);
// Null where the network is another one.
Result<std::unique_ptr<BatchRunner>> MakeBf16Runner(MobileNetV2& network,
                                                    std::shared_ptr<const Dataset> dataset);
Result<std::unique_ptr<BatchRunner>> MakeFp32Runner(MobileNetV2& network,
                                                    std::shared_ptr<const Dataset> dataset);
Result<std::unique_ptr<GradientExchange>> MakeBf16Exchange(MobileNetV2& network, AllReduce& ranks);
Result<std::unique_ptr<GradientExchange>> MakeFp32Exchange(MobileNetV2& network, AllReduce& ranks);
Result<std::unique_ptr<LaneRunner>> MakeBf16Lanes(const NetworkOptions& options,
                                                  std::shared_ptr<const Dataset> dataset);
Result<std::unique_ptr<LaneRunner>> MakeFp32Lanes(const NetworkOptions& options,
                                                  std::shared_ptr<const Dataset> dataset);

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
                                                  std::shared_ptr<const Dataset> dataset) {
  auto* const on_card = dynamic_cast<CardNetwork<CudaCard, T>*>(&network);
  if (on_card == nullptr) return std::unique_ptr<BatchRunner>();
  using Runner = CardBatchRunner<CudaCard, T>;
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner, Runner::Make(*on_card, std::move(dataset)));
  return std::unique_ptr<BatchRunner>(std::move(runner));
}

template <class T>
Result<std::unique_ptr<GradientExchange>> MakeExchangeOn(MobileNetV2& network, AllReduce& ranks) {
  auto* const on_card = dynamic_cast<CardNetwork<CudaCard, T>*>(&network);
  if (on_card == nullptr) return std::unique_ptr<GradientExchange>();
  return MakeCardBuckets(on_card->device(), ranks);
}

template <class T>
Result<std::unique_ptr<LaneRunner>> MakeLanesOn(const NetworkOptions& options,
                                                std::shared_ptr<const Dataset> dataset) {
  return std::unique_ptr<LaneRunner>(
      new CardLaneRunner<CudaCard, T>(&CudaCard::Open, options, std::move(dataset)));
}

}  // namespace tune::models::cuda
