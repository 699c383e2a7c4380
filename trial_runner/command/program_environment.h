// What a user's program finds in its environment.
//
//   TUNE_SOCKET           where it reports (program_messages.h)
//   TUNE_CONFIG           a JSON file with the configuration, nested
//   TUNE_PARAM_<NAME>     each parameter (parameter_variables.h)
//   TUNE_TRIAL, TUNE_ATTEMPT, TUNE_EXPERIMENT, TUNE_METRIC
//   TUNE_MODE             of that metric: max or min
//   TUNE_SEED             of the trial's own draws (search/trial_seed.h)
//   TUNE_SWEEP_SEED       the sweep's
//   TUNE_DIR              the trial's own folder
//   TUNE_RESTORED         what it named as its checkpoint, to go on from; absent: from the start
//   TUNE_FROM_ITERATION   iterations behind that checkpoint
//   OMP_NUM_THREADS       the trial's share of the CPUs; PYTHONUNBUFFERED=1 where not set
//   CUDA_VISIBLE_DEVICES and others: its share of devices (devices/device_environment.h)
//   RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and what else torchrun tells (docs/
//                         RANKS.md): of a trial of several ranks
//   PATH, PYTHONPATH      with `tune` and its Python module at their ends
//
// What the space file sets under `env` goes before all of these.
//
// Thread rule: pure functions.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/value.h"
#include "trial_runner/worker/trial_protocol.h"

namespace tune {

struct ProgramPlaces {
  std::string socket;
  std::string config_file;
  std::string restored;        // Empty: from the start.
  std::string program_folder;  // Where `tune` is.
  std::string python_folder;   // Where its module is; empty: nowhere.
};

using Environment = std::map<std::string, std::string>;

// `base`: the environment that the worker was started in. `own`: of the space file, filled.
Environment ProgramEnvironment(const Environment& base, const TrialStart& start,
                               const ProgramPlaces& places,
                               const std::vector<std::pair<std::string, std::string>>& own);

// What stands under "tune" for the texts of a command: {tune.dir} and the others.
Value OwnValues(const TrialStart& start);

}  // namespace tune
