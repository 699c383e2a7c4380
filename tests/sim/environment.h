// What every part of a simulated world knows: the seed's options, virtual time, the trace, the
// disk.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
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

// The tuner's end of checkpoints that machines without its disk send and ask for
// (trial_runner/checkpoint_transfer.h). A call belongs to the life of the tuner that it began in.
class Depot {
 public:
  virtual ~Depot() = default;
  // Its life's number. kUnavailable: it does not live, or knows no such worker now;
  // kFailedPrecondition: that worker does not hold the lease.
  virtual Result<int64_t> BeginCall(const std::string& session, const AttemptRef& ref) = 0;
  // The path where it is durable.
  virtual Result<std::string> Put(int64_t life, const AttemptRef& ref, const std::string& name,
                                  const std::string& text) = 0;
  virtual Result<std::string> Get(int64_t life, const std::string& path) = 0;
};

struct Environment {
  const Swarm& swarm;
  Happenings& happenings;
  Trace& trace;
  SimulatedDisk& disk;  // Of the tuner's machine; artifacts lie there for all.
  Depot* depot = nullptr;
  // Whether this is the trial's present attempt, under a lease.
  std::function<bool(TrialNumber, AttemptNumber)> is_leased = {};
  std::map<LeaseEpoch, Emitted> emitted = {};
  bool are_faults_on = true;  // Phase one.
  bool is_disk_full = false;
  bool is_store_away = false;  // The object store, where the sweep's checkpoints are kept in one.
  std::set<std::string> corrupted = {};  // Files that a failing medium changed.
};

inline constexpr char kDatabasePath[] = "/sim/tune.db";
inline constexpr char kArtifactsDir[] = "/sim/tune.artifacts";

}  // namespace tune::sim
