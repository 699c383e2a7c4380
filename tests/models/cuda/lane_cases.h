// Runs as lanes of a card's network, on any Device: called with the processor in the card's place,
// and with a card.
#pragma once

#include <memory>
#include <utility>

#include "models/cuda/card_lanes.h"
#include "tests/models/training/lane_cases.h"

namespace tune::models::cuda {

// `make(budget)` makes a card whose memory is of a budget.
template <class Device, class T, class Make>
LaneWorld OnTheCard(Make make, const LaneCloseness& closeness = {}) {
  LaneWorld world;
  world.closeness = closeness;
  world.lanes = [make, closeness](std::shared_ptr<const Dataset> data) {
    const NetworkOptions options =
        NetworkOptionsOf(LaneOptions(0, closeness), data->class_count(), 1);
    return std::make_unique<CardLaneRunner<Device, T>>(
        [make](auto budget) -> Result<std::unique_ptr<Device>> { return make(std::move(budget)); },
        options, std::move(data));
  };
  world.alone = [make](const Food11Options& options, std::shared_ptr<const Dataset> data) {
    auto network = CardNetwork<Device, T>::Make(make(std::make_shared<MemoryBudget>()),
                                                NetworkOptionsOf(options, data->class_count(), 1),
                                                options.seed);
    TUNE_CHECK(network.ok() && LoadWeights(options, **network).ok());
    auto batches = CardBatchRunner<Device, T>::Make(**network, data);
    TUNE_CHECK(batches.ok());
    return std::make_unique<Trainer>(
        options, std::move(data), *std::move(network), [] { return 0.0; }, *std::move(batches));
  };
  return world;
}

}  // namespace tune::models::cuda
