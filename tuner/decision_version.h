// Which rules a sweep is decided by: those of the build that began it, for as long as it goes on.
//
//   11  the oldest that this build knows
//   12  failures that are alike count over the deaths of a tuner, and anew only after an end
//   13  `auto` takes gp for several objectives, conditions, choices, and up to 50 parameters
//  14  `auto` learns who is to suggest, and counts points beside a grid; to a searcher a trial that
//      ended by itself is a whole one; reports without the metric are counted anew for each
//      attempt; a program's own `violation` means nothing without limits on results; the best
//      checkpoints are those of the best results also where limits are known at the end alone; of
//      combined schedulers the one that pauses does not hear a report by which another one stops
//      the trial; of runs that are repeated a searcher hears of a limit what the runs break it by
//      in the mean; schedulers take no finite value for a violation;
//      failures that are alike end no sweep of which a trial reported in an earlier life
//  15  a person's pause of a trial outlives the scheduler's also where that comes first, at a
//      report without a checkpoint;
//      `until.regret` is asked only once enough trials have succeeded, with results that differ;
//      `auto` takes the best report of a trial for what it has found, not the last;
//      a report with which its trial ends by itself fills no rung of a scheduler that pauses;
//      the time in which the tuner did not run (a suspended machine) is no time of a trial's
//  16  a constant that a condition or a constraint looks at is no grid;
//      `unique` holds for points and guesses, too, where the search learns;
//      to a searcher a trial that is opened again by `tune resume --errored` runs, and ends once;
//      a random trial for which no draw was allowed takes nothing from later ones;
//      gp takes a `reference` that is worse than all results for what it is, looks at
//      as many points where constraints forbid most, and knows no regret where they leave few;
//      cmaes begins after all trials of `from`, though a draw may equal one;
//      nor is the time in which the tuner did not run a part of limits.unplaceable
//
// Thread rule: constants.
#pragma once

#include <cstdint>

namespace tune {

inline constexpr int64_t kDecisionVersion = 16;  // Of new sweeps.
inline constexpr int64_t kOldestDecisionVersion = 11;

inline constexpr bool IsKnownDecisionVersion(int64_t version) {
  return version >= kOldestDecisionVersion && version <= kDecisionVersion;
}

}  // namespace tune
