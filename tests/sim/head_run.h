// A head in virtual time: sweeps and jobs are submitted while it runs and dies, its workers come,
// break off, come back and are lost. The tuner's loop, the controller, recovery and the SQLite
// store are the production ones; workers keep the protocol (head_worker.h). First faults happen as
// the seed says, then they stop and every sweep must come to its end, with the trials that it would
// have alone.
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/planted_faults.h"

namespace tune::sim {

struct HeadRunResult {
  std::string finding;  // Empty: nothing was found wrong.
  uint64_t hash = 0;    // Over everything that happened.
  int64_t lives = 0;
  int64_t sweeps = 0;
  int64_t commits = 0;
  int64_t commits_together = 0;  // Of several sweeps.
  int64_t reports = 0;
  int64_t full_disks = 0;  // That it waited out.
};

// The same seed gives the same result, hash and all.
HeadRunResult RunHead(uint64_t seed, bool is_verbose = false,
                      PlantedFault planted = PlantedFault::kNone);

}  // namespace tune::sim
