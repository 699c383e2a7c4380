// What passes between the cluster, which has the workers and their room (cluster.h), and a sweep,
// which has the trials (sweep.h): wants and grants one way, what becomes of leases the other. The
// controller hands each on; neither machine calls the other.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/resources.h"
#include "core/time.h"
#include "trial_runner/lease_table.h"
#include "trial_runner/messages.h"

namespace tune {

// ---- from the sweep: what it would begin

struct Want {
  std::optional<TrialNumber> waiting;  // Nothing: a new trial.
  ResourceRequest request;
  std::optional<WorkerId> failed_on;  // Where its latest attempt failed: rather elsewhere.
  bool may_be_put_off = false;        // Others may begin before it, where it failed.
};
// So many trials, one after the other, that could begin if there were room.
struct RoomWanted {
  ResourceRequest request;
  int64_t count = 0;
  // How long one takes, as attempts of the sweep did, or as those that run have so far if that is
  // longer; nothing: none has ended.
  std::optional<Duration> takes = {};
  int64_t running = 0;  // Trials of the sweep that run now; said once.
};
// Which trial it begins, under a lease that is to be granted now.
struct Candidate {
  TrialNumber trial;
  AttemptNumber attempt;
  std::string fuse_key;     // Of trials that may train as one; empty: of those that may not.
  ExperimentId sweep = {};  // Of those of the tuner.

  AttemptRef ref() const { return {trial, attempt, {}, sweep}; }
};
// A wish of the sweep.
struct EndLeasesAway {  // It ends, and those that are away cannot be told.
  std::string why;
};
struct NoteFailedStart {  // An attempt failed before its first report.
  WorkerId worker;
};
using Wish = std::variant<EndLeasesAway, NoteFailedStart>;

// ---- to the sweep: what it was granted

struct GrantedRank {
  LeaseTable::Lease lease;
  std::string device;     // Where the driver tells which device it is, its name; empty elsewhere.
  int64_t ends_seen = 0;  // Of its worker, so that the worker's books are read as of then.
  std::string address = {};  // Of the first of several ranks: where the others reach its machine.
};
// What else runs on the device of an attempt, as it reports.
struct Neighbours {
  int64_t count = 0;   // Attempts on that device, with itself.
  std::string device;  // As of GrantedRank.
};

// ---- from the sweep, when the tuner begins another life: what it holds

struct HeldLease {
  LeaseTable::Lease lease;
  bool is_queued = false;
  bool is_away = false;  // Its worker is: nobody hears it.
};
struct Holdings {
  std::vector<HeldLease> leases;  // By age.
  LeaseEpoch last_epoch;          // Of all that there ever were.
};

// ---- to the sweep: what became of leases

// It ran, or waited in a queue, and its end arrived.
struct LeaseEnded {
  WorkerId worker;
  AttemptEnded end;
  bool was_running = false;
  std::optional<AttemptRef> begun;  // The queue's head took over.
  bool could_have_whole = false;    // See LeaseLost.
};
// It ran, and its worker is gone or knows nothing of it.
struct LeaseLost {
  AttemptRef ref;
  std::string why;
  // Whether workers that are there could give a device of its own to each rank; said as the notice
  // is delivered.
  bool could_have_whole = false;
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
// it runs on there, in this place;
struct LeaseKept {
  LeaseTable::Lease lease;
  WorkerId from;
};
// it shall run there, but its start never came;
struct LeaseUnsent {
  GrantedRank rank;
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

// What a trial that used so much of a device is to get: a little more, since sizes differ.
constexpr int64_t WithMargin(int64_t bytes) { return bytes + bytes / 16; }

}  // namespace tune
