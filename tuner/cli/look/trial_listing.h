// The trials of a sweep as rows: what `tune results` and `tune compare` show.
//
// Thread rule: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

// Columns of trials: number, status, stop_reason, iterations, best_value, best_iteration,
// last_value, attempts, run_seconds, of a sweep with limits on results feasible (1, 0) and
// violation, then the parameters ("optimizer/lr"), then the metrics of each trial's last report (of
// several objectives the last that has them all), then failure: why a trial in ERROR failed. A
// parameter or metric whose name is taken is called "param.NAME" or "metric.NAME".
struct TrialListing {
  std::vector<std::string> columns;
  size_t param_begin = 0;
  size_t metric_begin = 0;               // The parameters end where the metrics begin.
  size_t failure = 0;                    // The metrics end here.
  std::vector<std::vector<Value>> rows;  // By number.

  std::optional<size_t> Find(std::string_view name) const;
  // The cell of a trial's own column, one that is named above.
  const Value& Own(size_t row, std::string_view name) const;
  bool HasFailed(size_t row) const { return Own(row, "status") == Value("ERROR"); }
};

// The configurations of a sweep with `repeat` as rows, the best first: configuration, runs (those
// that count), repeat (how many there should be), mean, deviation, best, worst, best_trial, trials,
// of a sweep with limits on results violation (the mean), then the parameters, then failure: why a
// run failed. Last those of which no run counts.
TrialListing ByConfiguration(const TrialListing& trials,
                             const std::vector<ConfigurationRuns>& ranked, int64_t repeat);

Result<TrialListing> ReadTrialListing(Database& database, const FoundSweep& sweep);

// What stands in a column of a row, as its kind is in the database.
Value CellOf(const Statement& row, int column);

}  // namespace tune
