// The workers as one: who is there (worker_book.h), who holds what (trial_runner/lease_table.h),
// and what it means for leases that a worker joins, breaks off, comes back or leaves. That is told
// as notices, in order; whose a lease is the cluster does not know.
//
// Thread rule: one thread. Pure: time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/resources.h"
#include "core/time.h"
#include "trial_runner/lease_table.h"
#include "tuner/event.h"
#include "tuner/transition.h"
#include "tuner/worker_book.h"

namespace tune {

// It ran, and its worker is gone or knows nothing of it.
struct LeaseLost {
  AttemptRef ref;
  std::string why;
};
// It waited in the queue of a worker that is gone.
struct LeaseDropped {
  AttemptRef ref;
};
// Its connection broke; it may come back, and its leases stand.
struct WorkerAway {
  WorkerId worker;
};
// The process that was worker `from` is worker `to` now. What it holds follows:
struct WorkerBack {
  WorkerId from;
  WorkerId to;
};
// it runs on there;
struct LeaseKept {
  AttemptRef ref;
  WorkerId from;
  WorkerId to;
};
// it shall run there, but its start never came;
struct LeaseUnsent {
  LeaseTable::Lease lease;
  WorkerId from;
};
// it is there without a lease.
struct LeaseUnknown {
  AttemptRef ref;
  WorkerId worker;
};
// For a person. `news` goes on behind its name: " is lost: its connection broke".
struct WorkerLeft {
  std::string name;
  std::string news;
};
using Notice = std::variant<LeaseLost, LeaseDropped, WorkerAway, WorkerBack, LeaseKept, LeaseUnsent,
                            LeaseUnknown, WorkerLeft>;
using Notices = std::vector<Notice>;

class Cluster {
 public:
  // Rows of workers, and what is to be done about them, go to `out`.
  explicit Cluster(Transition& out) : out_(out) {}

  // What is known; only the functions below change it.
  const LeaseTable& leases() const { return leases_; }
  const WorkerBook& workers() const { return workers_; }
  bool IsEmpty() const { return leases_.Views().empty(); }
  // When the first of those that are away is no longer waited for.
  std::optional<Instant> NextReturn() const;

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
  Notices Remove(WorkerId worker, WorkerState state, const std::string& why, Instant now);
  // It gets nothing more.
  void Drain(WorkerId worker, Instant now);
  void LoseDevice(const DeviceFellAway& event, Instant now);

  // ---- leases

  // As in the table (trial_runner/lease_table.h).
  std::vector<LeaseTable::Lease> Grant(const ResourceRequest& request,
                                       const std::set<WorkerId>& except, TrialNumber trial,
                                       AttemptNumber attempt, const std::string& fuse_key);
  AttemptRef GrantAhead(WorkerId worker, TrialNumber trial, AttemptNumber attempt);
  LeaseTable::Ended End(WorkerId worker, const AttemptRef& ref);
  // Tells workers that outlive their connection which ends have come, once a step.
  void AcknowledgeEnds();

  // ---- how attempts go on a worker (controller_turns.cc)

  void NoteReport(WorkerId worker) { workers_.NoteReport(worker); }
  void NoteFailedStart(WorkerId worker) { workers_.NoteFailedStart(worker); }
  // The workers that are given nothing while others are there.
  std::set<WorkerId> Shunned(const ResourceRequest& request);
  bool HasOtherThan(WorkerId worker, const ResourceRequest& request) const;
  bool HasGoodOtherThan(WorkerId worker, const ResourceRequest& request) const;

  // What does not hold of all that must, as a sentence.
  const char* BrokenInvariant() const;

 private:
  Notices Rejoin(WorkerId from, const WorkerJoined& event, Instant now);
  void Write(WorkerRecord& record, Instant now);
  void Say(std::string text);

  Transition& out_;
  LeaseTable leases_;
  WorkerBook workers_;
  std::set<WorkerId> acknowledge_;  // Ends came from them.
};

}  // namespace tune
