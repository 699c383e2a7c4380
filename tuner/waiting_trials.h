// What a living sweep gives out and what waits for it, as only its tuner knows: who holds what of
// each worker, and why each trial that neither runs nor is over does not run.
//
// Thread rule: pure functions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/resources.h"
#include "core/time.h"
#include "tuner/lease_giver.h"

namespace tune {

class SweepView;
struct TrialRecord;

// Why trials do not run, of any number of sweeps of one controller, which must not change
// meanwhile: what is the same for all of them is looked at once.
class WaitingReasons {
 public:
  // Why the first trial of the sweep that waits does so, or those that are still to come; nothing:
  // none waits.
  std::optional<std::string> First(const SweepView& view);
  // Of a trial that neither runs nor is over.
  std::string Of(const SweepView& view, const TrialRecord& trial);
  std::string OfThoseToCome(const SweepView& view);

 private:
  // Whether workers that a request may use could ever take it, and could now.
  struct Room {
    ResourceRequest request;
    bool could_take = false;
    bool is_there = false;
  };
  Room RoomFor(const SweepView& view, const ResourceRequest& request);
  std::string WhyPending(const SweepView& view, const ResourceRequest& request,
                         std::optional<TrialNumber> number);
  WorkerId HolderOf(const SweepView& view, LeaseEpoch epoch);

  std::optional<std::map<LeaseEpoch, WorkerId>> holders_;
  std::optional<std::string> capacities_, free_;  // Of the workers, described.
  std::optional<LeaseGiver::ReservesInTurn> reserves_;
  std::optional<Room> last_room_;  // Of a sweep that may use all workers.
};

// Lines of JSON, one for each worker that holds leases or may get some: {"worker": "gpu-1",
// "address": "10.0.0.7:4711", "is_local": false, "state": "draining", "cpus": 8, "slices":
// [{"trial": 3, "cpus": 4}], "silent_seconds": 0.4, "waits_for": "checkpoints: cannot ..."}; a
// slice of another sweep has its name, too: "sweep". The state is "alive", "draining" or "away":
// not connected, its trials are waited for. silent_seconds is null where nobody knows, waits_for
// where nothing waits there.
struct HeardOfWorker {
  std::optional<Instant> at;  // When it was last heard of.
  std::string waits_for;      // One line.
};
std::vector<std::string> EncodeWorkers(const SweepView& sweep, Instant now,
                                       const std::function<HeardOfWorker(WorkerId)>& heard_of);

// Lines of JSON, one for each trial that waits, by number, at most `lines_max`; the last one is of
// those that are still to come, if there are any: {"trial": 3, "count": 1, "why": "backs off until
// ..."}, {"trial": null, "count": 12, "why": "..."}; -1: as many as there is time for.
std::vector<std::string> EncodeWaiting(const SweepView& view, size_t lines_max);

}  // namespace tune
