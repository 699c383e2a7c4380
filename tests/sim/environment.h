// What every part of a simulated world knows: the seed's options, virtual time, the trace, the
// disk.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/happenings.h"
#include "tests/sim/simulated_disk.h"
#include "tests/sim/swarm.h"
#include "tests/sim/trace.h"
#include "trial_runner/messages.h"

namespace tune::sim {

// What a trial process reported, under the lease that it ran under; by sequence, from 1.
struct Emitted {
  AttemptRef ref;
  std::vector<int64_t> iterations;
};

struct Environment {
  const Swarm& swarm;
  Happenings& happenings;
  Trace& trace;
  SimulatedDisk& disk;  // Of the tuner's machine; artifacts lie there for all.
  std::map<LeaseEpoch, Emitted> emitted = {};
  bool are_faults_on = true;  // Phase one.
  bool is_disk_full = false;
  std::set<std::string> corrupted = {};  // Files that a failing medium changed.
};

inline constexpr char kDatabasePath[] = "/sim/tune.db";
inline constexpr char kArtifactsDir[] = "/sim/tune.artifacts";

}  // namespace tune::sim
