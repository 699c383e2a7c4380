// A sweep that another process runs, as the database shows it: the same view as its own tuner has.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "tuner/cli/look/live_table.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

// How the trials of a sweep that runs went so far, for EstimateTimeLeft. `rungs`: those that trials
// have reached, rising, where they are known; else all reports are looked at.
Result<SweepPace> ReadPace(Database& database, const FoundSweep& sweep, Instant now,
                           std::optional<std::vector<int64_t>> rungs = {});

// Iterations that attempts reported and that later ones reported again, having no checkpoint behind
// them to go on from.
Result<int64_t> CountIterationsAgain(Database& database, int64_t experiment);

// Reads of one sweep, one after the other; each may be on a connection of its own.
class StoredSnapshots {
 public:
  // `begun_at`: of the present tuner's life; what it did since is its pace.
  explicit StoredSnapshots(Instant begun_at) : begun_at_(begun_at) {}

  Result<SweepSnapshot> Read(Database& database, const FoundSweep& sweep, Instant now);
  // Those that ended since the last call; the first call takes note and gives none.
  Result<std::vector<EndedTrial>> ReadEnded(Database& database, const FoundSweep& sweep);
  // The best value over time, and the curves of the trials that run. Nothing of the best where
  // configurations are compared by the means of their runs.
  Result<EarlierHistory> ReadHistory(Database& database, const FoundSweep& sweep) const;
  // How many trials and iterations there were, and what early stopping saved of them.
  Result<SweepSummary> ReadTotals(Database& database, const FoundSweep& sweep) const;
  Result<SweepSummary> ReadSummary(Database& database, const FoundSweep& sweep, Instant now) const;

 private:
  const Instant begun_at_;
  RateMeter rate_;
  std::set<int64_t> told_;
  bool has_looked_ = false;
};

}  // namespace tune
