// How many workers each pool should have: shapes of what waits, packed onto what is free, then onto
// workers that are away and expected back, then onto what was asked for and has not come, then onto
// new workers of the first pool that can hold them. What would begin on those that are there before
// a new worker could take it asks for none.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/resources.h"
#include "core/time.h"
#include "trial_runner/placement.h"

namespace tune {

// Of a sweep or job, trials that could begin at once if there were room, in the order in which
// sweeps get it (fair_share.h).
struct WorkerDemand {
  std::string sweep;
  ResourceRequest request;
  int64_t count = 0;                // Within max_concurrent and what is left to try.
  std::set<WorkerId> unfit{};       // Workers that cannot run it.
  std::optional<Duration> takes{};  // One of them; nothing: that is not known.
  int64_t running = 0;              // Of the sweep, now.
};

struct PoolOffer {
  std::string name;
  // What a worker has; nothing: none has joined yet. Then one trial is counted for each.
  std::optional<WorkerCapacity> capacity;
  int64_t min = 0;
  int64_t max = 0;
  Duration idle;
  std::optional<Instant> rests_until;  // Nothing is asked of it before.
  std::string why_it_rests = {};
  std::optional<Duration> start = {};  // From asked for to joined; nothing: none has joined yet.
};

// Asked for, not joined, and not given up.
struct RequestedWorker {
  std::string name;
  size_t pool = 0;
  std::optional<Instant> unneeded_since;
  Instant asked_at = {};
};

struct JoinedWorker {
  std::string name;
  std::optional<size_t> pool;  // Nothing: the head's own, or one that somebody else started.
  WorkerView view;
  bool is_busy = false;     // It holds a lease: a trial, or a rank of one.
  bool is_leaving = false;  // It is told to go.
  bool is_away = false;     // Its connection broke, and it is waited for.
  std::optional<Instant> unneeded_since;
};

// What becomes of a demand.
struct DemandFate {
  int64_t waiting = 0;       // Of its trials, beyond what is free now.
  int64_t placed = 0;        // Of these, on workers that are away or asked for, or are now.
  int64_t sooner = 0;        // Of these, in places that trials leave before a new worker comes.
  std::set<size_t> pools{};  // Of the workers of those that are placed.
  std::string why;           // Of the rest; empty: there is none.
};

struct WantedWorkers {
  std::vector<int64_t> ask;    // By pool: so many more.
  std::vector<int64_t> total;  // By pool: what it should have with these.
  // Workers of pools, requested or joined, that nothing needs now.
  std::set<std::string> unneeded;
  // Those of them that were so for as long as their pools let them be idle: to be given back. The
  // order is that in which they became unneeded.
  std::vector<std::string> give_back;
  std::vector<DemandFate> fates;  // By demand.
};

// A worker with a lease is never given back, nor is one that is away, nor one below its pool's
// `min`.
WantedWorkers WorkersWanted(const std::vector<WorkerDemand>& demand,
                            const std::vector<PoolOffer>& pools,
                            const std::vector<RequestedWorker>& requested,
                            const std::vector<JoinedWorker>& joined, Instant now);

}  // namespace tune
