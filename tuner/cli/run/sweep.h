// A sweep from its first event to its end: the composition of the real parts (gateway, local
// worker, signals, store) around the loop. `tune run` and `tune resume` prepare one and conduct it
// here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/limits.h"
#include "core/resources.h"
#include "core/status.h"
#include "core/time.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/look/page_place.h"
#include "tuner/cli/run/working_package.h"
#include "tuner/experiment_controller.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune {

// What the command line says about a sweep's surroundings.
struct SweepSurroundings {
  std::string db_path;
  std::string program_dir;  // Where tune, tune_worker and the others are.
  WorkerCapacity local;     // What the local worker offers; nothing of either: none is started.
  std::string listen;       // HOST:PORT for other machines; empty: none.
  Duration token_validity;  // Of the token in the join line.
  int64_t checkpoint_bytes_max = limits::kCheckpointBytesMax;  // Of one that a worker sends.
  std::string trainable_kind;             // What the local worker warms up for.
  std::function<void()> on_running = {};  // If it is there: called after each commit.
  WorkingPackage package = {};            // What workers of other machines fetch.
  std::optional<PagePlace> page = {};     // Where it is served beside the sweep.
  std::string log;  // "tensorboard": event files are written live; empty: nothing is.

  bool has_local_worker() const { return local.cpu_milli > 0 || !local.devices.empty(); }
};

// What --log says, if it is there.
Status CheckLog(const std::string& log);

// The machine's cores that this process may use.
int64_t AvailableCpus();

// What a worker of this machine offers to trials that need `request`: what was asked for, else its
// cores and, if trials need any, its devices; none without CPUs. kInvalidArgument: it has less.
Result<WorkerCapacity> FindLocalCapacity(const ResourceRequest& request,
                                         std::optional<int64_t> cpus, std::optional<int64_t> gpus);

// Says which resources no worker could ever have, when no other worker than the local one can be
// there at the start.
Status CheckFeasible(const ResourceRequest& request, const SweepSurroundings& surroundings);

// Runs until the sweep ends or is interrupted, with a live table on standard error and the summary
// on standard output. `first_events` are applied first (a resume's). Returns the exit status: 0
// the sweep has ended, 3 some of its trials failed, 1 something is wrong; interrupted, that of the
// signal.
int ConductSweep(const SweepSurroundings& surroundings, const StoredExperiment& experiment,
                 ExperimentController& controller, int64_t last_step,
                 const std::vector<Event>& first_events, SqliteStore& store, const Clock& clock);

}  // namespace tune
