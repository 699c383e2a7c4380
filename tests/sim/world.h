// A whole life of a sweep in virtual time: a tuner that dies and comes back, workers, trials, a
// network, a disk, and a user who resumes what was interrupted. First faults happen as the seed's
// swarm says, then they stop and everything must come to its end.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/ids.h"
#include "tests/sim/swarm.h"

namespace tune::sim {

struct RunResult {
  std::string finding;      // Empty: nothing was found wrong.
  uint64_t hash = 0;        // Over everything that happened.
  int64_t event_count = 0;  // Committed events.
  int64_t commit_count = 0;
  int64_t happening_count = 0;
  int64_t tuner_lives = 0;
  std::map<std::string, int64_t> coverage;  // How often what happened.
  // How each trial ended, without times: what does not depend on what happened on the way.
  std::map<TrialNumber, std::string> table;
};

// One life. The same swarm gives the same result, hash and all.
RunResult Run(const Swarm& swarm, bool is_verbose = false);

// The checks of one seed: a life, once more to compare the hash where `is_twice`, and an
// undisturbed one to compare the end where that must be the same.
RunResult RunSeed(const Swarm& swarm, bool is_twice, bool is_verbose = false);

}  // namespace tune::sim
