// The planted faults at work: decorators and rewrites at the tuner's seams. With kNone each does
// nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/sim/planted_faults.h"
#include "tests/sim/simulated_disk.h"
#include "trial_runner/worker_link.h"
#include "tuner/experiment_controller.h"
#include "tuner/store.h"

namespace tune::sim {

// Around `inner`, or null.
std::unique_ptr<Store> PlantInStore(PlantedFault fault, Store& inner);

// A recovered controller, or a worse one in its place.
std::unique_ptr<ExperimentController> PlantInController(
    PlantedFault fault, std::unique_ptr<ExperimentController> recovered, Store& store,
    const StoredExperiment& experiment);

void PlantInGateway(PlantedFault fault, KeyedRandom& random, const ExperimentController& controller,
                    std::vector<Incoming>& incoming);
void PlantInSending(PlantedFault fault, KeyedRandom& random, std::vector<ToWorker>& messages);
void PlantInStream(PlantedFault fault, std::vector<SweepEvent>& stream);
void PlantInRemoval(PlantedFault fault, SimulatedDisk& disk, const std::string& path);

}  // namespace tune::sim
