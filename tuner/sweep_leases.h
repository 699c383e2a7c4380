// The leases of one sweep, as its trials see them: which attempt, or rank of one, is on which
// worker, running or in its queue. It is kept by what the cluster tells (cluster.h), and knows
// nothing of the workers' room.
//
// Thread rule: one thread. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "trial_runner/lease_table.h"
#include "trial_runner/messages.h"
#include "tuner/lease_event.h"

namespace tune {

struct SweepLease {
  AttemptRef ref;
  WorkerId worker;
  int64_t rank = 0;
  bool is_queued = false;
};

class SweepLeases {
 public:
  void Add(const LeaseTable::Lease& lease, bool is_queued = false);
  // The head of a queue runs now, in this place.
  void Begin(const AttemptRef& ref, const Placement& placement);
  // The worker's process has another connection; it is not away any more.
  void Move(const LeaseTable::Lease& lease);
  void Remove(const AttemptRef& ref);
  // The connection of its worker broke: nobody hears it.
  void SetAway(WorkerId worker) { away_.insert(worker); }

  bool IsAway(WorkerId worker) const { return away_.contains(worker); }
  // Whether it runs there.
  bool IsRunning(WorkerId worker, const AttemptRef& ref) const;
  const SweepLease* Find(const AttemptRef& ref) const;  // Null: there is no such lease.
  bool HoldsAny(WorkerId worker) const;                 // That runs there.
  const Placement& PlacementOf(const AttemptRef& ref) const { return placements_.at(ref.epoch); }
  // Attempts of which a rank runs, and those that wait in queues.
  int64_t running_count() const { return static_cast<int64_t>(ranks_.size()); }
  int64_t queued_count() const { return queued_count_; }
  // Of each attempt that of its first rank, by worker and age, those that run before those that
  // wait.
  std::vector<SweepLease> FirstRanks() const;
  // Those of a trial that run, by worker and age.
  std::vector<SweepLease> RanksOf(TrialNumber trial) const;
  Holdings All() const;

 private:
  using Place = std::tuple<bool, WorkerId, LeaseEpoch>;  // In order.
  static Place PlaceOf(const SweepLease& lease) {
    return {lease.is_queued, lease.worker, lease.ref.epoch};
  }

  std::map<LeaseEpoch, SweepLease> leases_;
  std::map<LeaseEpoch, Placement> placements_;  // Of the same; of a queued one the worker alone.
  LeaseEpoch last_epoch_;
  std::set<Place> places_;
  std::map<TrialNumber, std::set<Place>> ranks_;  // Of leases that run; none is empty.
  int64_t queued_count_ = 0;
  std::set<WorkerId> away_;  // Among those that hold any.
};

}  // namespace tune
