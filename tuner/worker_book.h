// Who is, and was, there: each connection of a worker, which of them may come back, and how
// attempts went on them. What they hold is in the lease table (trial_runner/lease_table.h).
//
// Thread rule: one thread. Pure: time is an argument.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/ids.h"
#include "core/time.h"
#include "trial_runner/lease_table.h"
#include "tuner/event.h"
#include "tuner/transition.h"

namespace tune {

// A connection of a worker.
struct WorkerRecord {
  WorkerRow row;
  std::optional<Instant> away_until;  // Its connection broke; it may come back until then.
  std::string rank_address = {};      // WorkerJoined's; empty until it joins this tuner's life.
  bool is_asked_to_leave = false;     // It may not have heard it.
};

class WorkerBook {
 public:
  // The connection is new.
  const WorkerRecord& Add(const WorkerJoined& event, Instant now);
  // One of an earlier life of the tuner.
  void Restore(const WorkerRow& row);
  // Those that have gone too: whoever has, or had, a lease.
  const std::map<WorkerId, WorkerRecord>& all() const { return workers_; }
  bool Has(WorkerId worker) const { return workers_.contains(worker); }
  WorkerRecord& At(WorkerId worker) { return workers_.at(worker); }
  const WorkerRecord& At(WorkerId worker) const { return workers_.at(worker); }
  std::string NameOf(WorkerId worker) const;  // Empty: it is not known.
  bool WasHere(const std::string& session) const;
  bool WasAskedToLeave(const std::string& session) const;
  // The latest connection of the same worker process, if its leases still stand.
  std::optional<WorkerId> EarlierConnection(const WorkerJoined& event,
                                            const LeaseTable& leases) const;

  void SetAway(WorkerId worker, Instant until);
  // Or gone: it is not waited for any longer.
  void SetPresent(WorkerId worker);
  const std::set<WorkerId>& away() const { return away_; }
  // All that are away may take longer by this.
  void PutOffReturns(Duration by);

  // Whether that was news.
  bool NoteReport(WorkerId worker);
  bool NoteFailedStart(WorkerId worker);
  // Those on which attempts failed, and none has ever reported.
  const std::set<WorkerId>& unproven() const { return unproven_; }

  // The worker process of `from` has the connection `to` now.
  void CarryOver(WorkerId from, WorkerId to);
  void Remove(WorkerId worker);  // It is gone; its record stays.

 private:
  std::map<WorkerId, WorkerRecord> workers_;
  std::set<WorkerId> away_;
  std::set<WorkerId> unproven_;
};

}  // namespace tune
