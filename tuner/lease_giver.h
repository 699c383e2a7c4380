// Who is given the next lease: of several sweeps the one whose turn it is (fair_share.h), of its
// trials the first that has room. A sweep whose next trial would have room on an empty machine, and
// never finds one empty beside the small trials of others, is after a while given the claim: its
// machines take nobody else's until it has begun. What is reserved for a sweep (reserves.h) is held
// free from those that come after it in the turn, and from no other: the first is held back by
// nobody, so two reserves cannot block each other.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "tuner/open_sweep.h"
#include "tuner/reserves.h"
#include "tuner/switchboard.h"

namespace tune {

class LeaseGiver {
 public:
  explicit LeaseGiver(Switchboard& board) : board_(board) {}

  // All that there is room for.
  void Fill();
  // Once a step, after filling: what can be placed nowhere, and who waits how long.
  void LookAtWaiting();
  // What workers that may still come would have: a trial that one of them could take waits for it,
  // however long that takes. `any`: one may have anything.
  void Promise(std::vector<WorkerCapacity> capacities, bool any);
  // When somebody may get the claim.
  std::optional<Instant> NextDeadline() const;

  // Those that may begin one more trial, by whose turn it is.
  std::vector<ExperimentId> Turn() const;
  // Who has the claim, and the workers that are kept for it; for people.
  const std::set<WorkerId>& claimed() const { return claimed_; }
  std::optional<ExperimentId> claimant() const { return claimant_; }
  // The reserves that are not met and the places in the turn, as they are now: looked at once for
  // HeldBackFor of any number of sweeps.
  struct ReservesInTurn {
    std::map<ExperimentId, size_t> places;
    std::vector<ExperimentId> unmet;  // In the order of the turn.
    // What was found for the last sweep that may use all workers: sweeps alike need no look.
    struct Found {
      ResourceRequest request;
      size_t before = 0;  // How many of `unmet` come before it.
      std::optional<ExperimentId> holder;
    };
    std::optional<Found> last;
  };
  ReservesInTurn LookAtReserves() const;
  // The first sweep whose reserve keeps this one from room that is free; nothing: none does.
  std::optional<ExperimentId> HeldBackFor(ExperimentId id, ReservesInTurn& reserves) const;
  // How many trials room is held free for, beside those that run.
  static int64_t UnmetTrials(const OpenSweep& sweep);

  static constexpr Duration kPatience = Seconds(60);  // Until the claim.

 private:
  // Of the first `before` reserves that are not met.
  std::optional<ExperimentId> FirstThatHolds(const ResourceRequest& request,
                                             const std::set<WorkerId>& unfit,
                                             const ReservesInTurn& reserves, size_t before) const;
  bool IsPromised(const ResourceRequest& request) const;
  void ForgetWhatNobodyHas(OpenSweep& sweep);
  std::vector<ExperimentId> Order() const;
  std::vector<HeldRoom> ReservedBefore(ExperimentId id,
                                       const std::vector<ExperimentId>& order) const;
  bool GrantNext(OpenSweep& sweep, const std::vector<ExperimentId>& order);
  bool LeavesReserves(const OpenSweep& sweep, const std::set<WorkerId>& claim) const;
  void FillAhead();
  void WatchForUnplaceable(OpenSweep& sweep);
  void GiveClaim();
  void NoteGranted(OpenSweep& sweep);

  Switchboard& board_;
  std::vector<WorkerCapacity> promised_;
  bool is_any_promised_ = false;
  // The one that has the claim, and the workers that it keeps from others.
  std::optional<ExperimentId> claimant_;
  std::set<WorkerId> claimed_;
};

}  // namespace tune
