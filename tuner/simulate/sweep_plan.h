// What a space file would lead to, before anything runs: how many trials, how many at a time, how
// many epochs, how many trials reach which rung, and what is odd about it.
//
// The scheduler is not described by formulas: the sweep is played through (virtual_sweep.h) with
// trials whose values do not change as they train. Expected: their order is random, and the mean
// over several plays counts. Worst: each trial is better than all before it, so that a scheduler
// which stops poor trials has none to stop. Long sweeps are played in small and scaled.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/resources.h"
#include "core/status.h"
#include "tuner/experiment_spec.h"

namespace tune {

struct PlannedRung {
  int64_t bracket = 0;
  int64_t milestone = 0;      // Iterations.
  double expected_count = 0;  // Trials that reach it.
  double worst_count = 0;
};

struct PlannedEpochs {
  double total = 0;
  double in_a_row = 0;   // From the first one's begin to the last one's end, each taking as long.
  int64_t live_max = 0;  // Trials that had begun and were not over, at one time.
};

struct SweepPlan {
  std::optional<int64_t> trials;            // Nothing: no end.
  std::optional<int64_t> points;            // Configurations in the space; nothing: no end of them.
  std::optional<int64_t> trial_iterations;  // Of the longest trial; nothing: only it knows.
  std::string automatic;                    // What `algorithm: auto` takes here, and why.
  std::optional<int64_t> checkpoint_bytes;  // Of the largest one; nothing: only the trial knows.
  int64_t at_once = 0;                      // Trials at a time on the worker; 0: none fits.
  // Of trials that can train as one (trial_runner/fusion.h), by shape.
  struct Lanes {
    int64_t count_max = 1;  // As many as have their places on one device.
    bool is_asked = false;  // The configuration says how many at most; else what was measured may.
  };
  std::map<std::string, Lanes> lanes;
  std::optional<PlannedEpochs> expected;  // Nothing where trials or iterations are unknown.
  std::optional<PlannedEpochs> worst;
  std::vector<PlannedRung> rungs;
  std::vector<std::string> warnings;
};

// `capacity`: of the one worker. `seed`: of the configurations, where the spec has none.
Result<SweepPlan> PlanSweep(const ExperimentSpec& spec, uint64_t seed,
                            const WorkerCapacity& capacity);

}  // namespace tune
