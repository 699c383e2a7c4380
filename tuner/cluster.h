// The workers as one: who is there (worker_book.h), who holds what (trial_runner/lease_table.h),
// and what it means for leases that a worker joins, breaks off, comes back or leaves. That is told
// as notices, in order. Of sweeps it knows the numbers that leases carry.
//
// Thread rule: one thread. Pure: time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/resources.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/lease_table.h"
#include "tuner/event.h"
#include "tuner/lease_event.h"
#include "tuner/transition.h"
#include "tuner/worker_book.h"

namespace tune {

// Which want is to be had now, and where not.
struct Choice {
  size_t want = 0;  // Of those that were asked for.
  std::set<WorkerId> except;
};

class Cluster {
 public:
  // Rows of workers, and what is to be done about them, go to `out`.
  explicit Cluster(Transition& out) : out_(out) {}

  // What is known; only the functions below change it.
  const LeaseTable& leases() const { return leases_; }
  const WorkerBook& workers() const { return workers_; }
  bool IsEmpty() const { return leases_.Views().empty(); }
  std::optional<WorkerId> LocalWorker() const;  // The latest that is there.
  // When the first of those that are away is no longer waited for.
  std::optional<Instant> NextReturn() const;

  // ---- lives of the tuner

  // As it was, from its rows and from what the sweep holds; how long workers that are away are
  // waited for is to be said anew. kDataLoss where the two do not go together: somebody changed the
  // rows.
  // `may_queue`: leases ahead may be granted there (Join).
  Status Restore(const std::vector<WorkerRow>& workers, const std::set<WorkerId>& may_queue,
                 const Holdings& held);
  // The rows of all workers: those of an older build say less.
  void WriteAll();

  // ---- workers

  // Of the worker of that session, whose process another one of its machine has seen end: it need
  // not be waited for. Nothing: there is none.
  std::optional<Notices> EndFormer(const std::string& session, Instant now);
  // `may_queue`: leases ahead may be granted there.
  Notices Join(const WorkerJoined& event, Welcome welcome, bool may_queue, Instant now);
  // `may_wait`: one whose connection broke may come back within `lease`.
  Notices Leave(const WorkerGone& event, bool may_wait, Duration lease, Instant now);
  Notices SetAway(WorkerId worker, Duration lease, Instant now);
  void PutOffReturns(Duration by) { workers_.PutOffReturns(by); }
  // Of the first worker that did not come back in time; nothing: there is none.
  std::optional<Notices> EndOverdue(Instant now);
  // All that are away.
  Notices EndAway(const std::string& why, Instant now);
  // What one sweep has on those; they themselves are waited for.
  Notices EndAwayOf(ExperimentId sweep, const std::string& why);
  Notices Remove(WorkerId worker, WorkerState state, const std::string& why, Instant now);
  // It gets nothing more.
  void Drain(WorkerId worker, Instant now);
  // Likewise, and it is told so.
  void AskToLeave(WorkerId worker, Instant now);
  void LoseDevice(const DeviceFellAway& event, Instant now);

  // ---- leases

  // Of wants in their order the first that has room now; nothing: none has. One that has room
  // nowhere is waited for. A machine on which programs fail shall not use up the attempts of trials
  // that would go well on another one: a trial goes elsewhere than where it failed, and where
  // something would go well elsewhere, others may begin before it (Want::may_be_put_off). With one
  // worker there is no other, and nothing of this applies. `any`: what a new trial needs. Workers
  // of `kept` are for others.
  std::optional<Choice> Choose(const std::vector<Want>& wants, const ResourceRequest& any,
                               const std::set<WorkerId>& kept = {});
  // The worker with room in its queue, none of `kept`, and the first of the wants for it.
  std::optional<WorkerId> RoomAhead(int64_t ahead_per_running, const ResourceRequest& any,
                                    const std::set<WorkerId>& kept);
  std::optional<size_t> ChooseAhead(const std::vector<Want>& wants, WorkerId worker) const;
  // As in the table (trial_runner/lease_table.h). `want` is the one that was chosen.
  std::vector<GrantedRank> Grant(const Want& want, const Choice& choice,
                                 const Candidate& candidate);
  GrantedRank GrantAhead(WorkerId worker, const Candidate& candidate);
  LeaseTable::Ended End(WorkerId worker, const AttemptRef& ref);
  // The sweep is over, and the workers are not: they are told.
  void EndSweep(ExperimentId sweep);
  // Tells workers that outlive their connection which ends have come, once a step.
  void AcknowledgeEnds();

  // ---- what is there

  Neighbours BesideFirstRankOf(const AttemptRef& attempt) const;
  int64_t LargestDeviceMemory() const;
  // Whether that is more of any device than its share for `request` is.
  bool IsBeyondShare(int64_t bytes, const ResourceRequest& request) const;
  // What those have that are to stay: "4 CPUs; 2 CPUs, 1 GPU"; empty: no worker is there.
  std::string Capacities() const;

  // ---- how attempts go on a worker

  void NoteReport(WorkerId worker);
  void NoteFailedStart(WorkerId worker);
  // The workers that are given nothing while others are there.
  std::set<WorkerId> Shunned(const ResourceRequest& request);

  // What does not hold of all that must, as a sentence.
  const char* BrokenInvariant() const;

 private:
  Notices Rejoin(WorkerId from, const WorkerJoined& event, Instant now);
  GrantedRank Describe(const LeaseTable::Lease& lease) const;
  bool Avoids(const Want& want) const;
  bool MayPutOff(const Want& want) const;
  bool HasOtherThan(WorkerId worker, const ResourceRequest& request) const;
  bool HasGoodOtherThan(WorkerId worker, const ResourceRequest& request) const;
  std::string DeviceOf(const Placement& placement) const;
  void Write(WorkerRecord& record, Instant now);
  void Say(std::string text);

  Transition& out_;
  LeaseTable leases_;
  WorkerBook workers_;
  std::set<WorkerId> acknowledge_;  // Ends came from them.
};

}  // namespace tune
