// A space file as a virtual sweep: the same searcher, scheduler and controller as `tune run` makes
// of it, over curves in place of training.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "search/searcher.h"
#include "tuner/experiment_controller.h"
#include "tuner/experiment_spec.h"
#include "tuner/simulate/recorded_curves.h"
#include "tuner/simulate/recorded_trials.h"
#include "tuner/simulate/virtual_sweep.h"

namespace tune {

struct Simulation {
  ExperimentSpec spec;
  uint64_t seed = 0;
  VirtualWorkers workers;
  // Nothing: the trainable is a curve, and its formula is followed.
  std::optional<RecordedCurves> recorded = {};
};

struct SimulatedSweep {
  VirtualOutcome outcome;
  int64_t trials = 0;
  int64_t failed = 0;                // ERROR.
  int64_t stopped_early = 0;         // By the scheduler.
  Configuration best_configuration;  // Of the last improvement; empty without one.
  RecordedTrials::Distance distance;
};

// The controller of a sweep that is only played: the spec's scheduler, and `searcher` in place of
// its own.
Result<std::unique_ptr<ExperimentController>> MakeVirtualController(
    const ExperimentSpec& spec, uint64_t seed, std::unique_ptr<Searcher> searcher);

// Whether it can begin at all: a worker that fits, an end, a curve for each trial. One line that
// names the option or the place in the space file.
Status CheckSimulation(const Simulation& simulation);

// Requires that CheckSimulation is ok.
Result<SimulatedSweep> Simulate(const Simulation& simulation);

// The iterations of the longest curve. Requires as Simulate.
int64_t LongestCurve(const Simulation& simulation);

}  // namespace tune
