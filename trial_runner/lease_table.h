// Who holds what: the workers, the attempts of all sweeps that run on them, and those granted
// ahead. An attempt holds a lease, or one for each of its ranks; a lease has an epoch that no other
// ever has, and whatever arrives under another one is refused (fencing).
//
// A worker takes the head of its queue the moment an attempt there ends, without asking
// (messages.h). This table sees the same ends in the same order and keeps the same books: End says
// which lease began.
//
// A worker whose connection broke may be kept away: it is granted nothing, and its leases stay for
// it to take up again under another id (Rejoin).
//
// Thread rule: one thread. Pure: no time, no randomness.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/resources.h"
#include "trial_runner/messages.h"
#include "trial_runner/placement.h"
#include "trial_runner/placement_order.h"

namespace tune {

// What leases hold of workers, or what workers have.
struct Usage {
  int64_t cpu_milli = 0;
  int64_t gpu_milli = 0;
};

class LeaseTable {
 public:
  struct Lease {
    AttemptRef ref;
    Placement
        placement;  // Of a running lease; empty but for the worker while it waits in the queue.
    int64_t rank = 0;
  };

  // `takes_ahead`: its queue is part of the books; not for workers that outlive their connection.
  void AddWorker(WorkerId worker, const WorkerCapacity& capacity, bool takes_ahead = true);
  // Its leases are gone: those that ran, then those that waited, each in order of epoch.
  struct Lost {
    std::vector<AttemptRef> running;
    std::vector<AttemptRef> ahead;
  };
  Lost RemoveWorker(WorkerId worker);
  bool HasWorker(WorkerId worker) const { return workers_.contains(worker); }
  bool HoldsAny(WorkerId worker) const {
    const WorkerBooks& books = workers_.at(worker);
    return !books.running.empty() || !books.ahead.empty();
  }

  // The worker is about to leave: it is granted nothing more. Whether it was not so before.
  bool Drain(WorkerId worker);

  // The device is no longer there. Leases on it go on until their ends arrive; whether there was
  // such a device. Not for a worker that takes leases ahead and holds any there: its queue would
  // take over room that is gone.
  bool LoseDevice(WorkerId worker, int64_t device);

  // Its connection broke; it holds what it holds.
  void SetAway(WorkerId worker);
  // The worker `from`, which takes no leases ahead, came back as `to`. What of `held` it has a
  // lease for runs on, where the worker says. Each list is in order of epoch.
  struct Rejoined {
    std::vector<Lease> kept;          // Held.
    std::vector<Lease> unsent;        // Running by our books, and never heard of by the worker.
    std::vector<AttemptRef> lost;     // As unsent, but there is no room for it any more.
    std::vector<AttemptRef> unknown;  // Held without a lease.
  };
  Rejoined Rejoin(WorkerId from, WorkerId to, const WorkerCapacity& capacity,
                  const std::vector<HeldAttempt>& held);
  // What a worker runs without a lease takes room all the same until its end arrives.
  void Occupy(WorkerId worker, const HeldAttempt& attempt);
  bool IsAway(WorkerId worker) const { return workers_.at(worker).is_away; }

  // Leases that begin now, where there is room for `request`, one for each of its ranks, in order;
  // empty when there is not room for all of them. Workers of `except` are passed over.
  bool HasRoom(const ResourceRequest& request, const std::set<WorkerId>& except = {}) const;
  // Whether workers that are there, and are to stay, could take it once they are empty; those of
  // `except` are passed over.
  bool CouldPresentTake(const ResourceRequest& request,
                        const std::set<WorkerId>& except = {}) const;
  // The same of this worker alone.
  bool CouldTakeOn(WorkerId worker, const ResourceRequest& request) const;
  // The same, or one that is away may come back.
  bool CouldTake(const ResourceRequest& request, const std::set<WorkerId>& except = {}) const;
  // `attempt`, whose epoch it gives.
  std::vector<Lease> Grant(const ResourceRequest& request, const AttemptRef& attempt,
                           const std::string& fuse_key = "", const std::set<WorkerId>& except = {});

  // The worker with the fewest leases ahead for each running one, if it has room for one more
  // within `ahead_per_running`; nothing else. GrantAhead queues a lease there.
  std::optional<WorkerId> RoomAhead(int64_t ahead_per_running,
                                    const std::set<WorkerId>& except = {}) const;
  AttemptRef GrantAhead(WorkerId worker, const AttemptRef& attempt);
  // Workers in whose queues leases of other sweeps wait: what ends there is theirs.
  std::set<WorkerId> QueuesBeside(ExperimentId sweep) const;

  // Whether the worker holds this very lease, running.
  bool IsRunning(WorkerId worker, const AttemptRef& ref) const;

  // As it was granted in another life, or took over, on a worker that is there: by age.
  void Restore(const Lease& lease, bool is_queued);
  // No lease gets this epoch, or an earlier one.
  void BeginAfter(LeaseEpoch epoch) { last_epoch_ = std::max(last_epoch_, epoch); }

  // An end arrived. `known` is false for a lease that the worker does not hold (late, or from the
  // dead): nothing changed but the count of ends.
  struct Ended {
    bool known = false;
    bool was_running = false;
    std::optional<Lease> begun;  // The queue's head took over.
  };
  Ended End(WorkerId worker, const AttemptRef& ref);
  // It runs on, for all that is known, without a lease, and keeps its room until its end arrives.
  void Fence(WorkerId worker, const AttemptRef& ref);
  // Workers end what they run of this sweep without a lease, and say nothing of it.
  void ForgetFenced(ExperimentId sweep);
  // AttemptEnded messages seen on this connection.
  int64_t EndsSeen(WorkerId worker) const;

  // Attempts of which a rank runs.
  int64_t running_count() const { return static_cast<int64_t>(rank_counts_.size()); }
  int64_t ahead_count() const { return ahead_count_; }
  // All attempts' leases, those of their first ranks, running ones first, with their workers: for
  // an interrupt.
  std::vector<std::pair<WorkerId, AttemptRef>> All() const;
  // The running leases of the ranks of one sweep's trial.
  std::vector<Lease> RanksOf(ExperimentId sweep, TrialNumber trial) const;

  std::vector<WorkerView> Views() const;
  std::vector<Lease> RunningOn(WorkerId worker) const;  // By epoch.
  Usage UsageOf(ExperimentId sweep) const;              // Of its running leases.
  Usage Total() const;                                  // Of all workers, with what is taken.
  // Workers that could take the request together once they were empty, those with the fewest leases
  // first and no more than needed; empty: there are none.
  std::vector<WorkerId> EmptiestFor(const ResourceRequest& request) const;

 private:
  struct WorkerBooks {
    WorkerView view;
    std::map<LeaseEpoch, Lease> running;
    std::map<LeaseEpoch, Lease> fenced;  // Run there without a lease.
    std::deque<AttemptRef> ahead;
    int64_t ends_seen = 0;
    bool takes_ahead = true;
    bool is_away = false;
  };

  // Trials of two sweeps have the same numbers.
  using TrialKey = std::pair<ExperimentId, TrialNumber>;
  static TrialKey KeyOf(const AttemptRef& ref) { return {ref.sweep, ref.trial}; }
  AttemptRef WithEpoch(AttemptRef attempt);
  void Run(WorkerBooks& books, const Lease& lease);
  void CountIn(const Lease& lease);
  void CountOut(const Lease& lease);
  static bool Fits(const WorkerBooks& books, const Placement& placement);
  void Take(WorkerBooks& books, const Placement& placement, int64_t sign);
  std::vector<Placement> FindRoom(const ResourceRequest& request, const std::string& fuse_key = "",
                                  const std::set<WorkerId>& except = {}) const;

  std::map<WorkerId, WorkerBooks> workers_;
  PlacementOrder order_;  // Of their views.
  std::set<WorkerId> takes_ahead_;
  LeaseEpoch last_epoch_;
  std::map<TrialKey, int64_t> rank_counts_;  // Of running leases; none is 0.
  std::map<ExperimentId, Usage> usage_;      // Of the same.
  int64_t ahead_count_ = 0;
};

}  // namespace tune
