// Which parameters mattered in a stored sweep (search/importance.h).
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "core/value.h"
#include "search/importance.h"
#include "search/space.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

// A trial as importance looks at it.
struct WeighedTrial {
  int64_t id = 0;
  int64_t number = 0;
  Configuration configuration;
  bool has_failed = false;
  bool is_over = false;      // And has not failed.
  bool was_stopped = false;  // By the scheduler, or paused by it.
  int64_t iterations = 0;
  std::optional<double> best_value;
  std::optional<double> violation;  // Of it, in a sweep with limits on results.
  // Of its last report, a map or null; of several objectives, theirs and the violation are of the
  // last report that is whole (tuner/cli/look/pareto_front.h).
  Value last_metrics;
};

struct StoredImportance {
  std::vector<ParameterImportance> parameters;  // The most important first.
  size_t trial_count = 0;                       // With `repeat` of configurations.
  std::optional<int64_t> iteration;  // At which trials are compared, where some were stopped.
};

// What trials are compared by, as WeighParameters compares them.
struct ComparedValues {
  std::optional<int64_t> iteration;  // Nothing: none was stopped, and their best values count.
  std::vector<std::pair<int64_t, double>> values;  // With `iteration`, by the trial's number.
};

// By number.
Result<std::vector<WeighedTrial>> ReadWeighedTrials(Database& database, const FoundSweep& sweep);

// Reads the values of all reports up to the iteration: it may take seconds.
Result<ComparedValues> ReadComparedValues(Database& database, const FoundSweep& sweep);

// A trial counts with its best value of the sweep's metric; with its last one of another metric;
// where the sweep has several objectives, with what its last whole report has of them. Where a
// scheduler stopped trials, they are compared at equal iterations: with their best value up to the
// iteration that half of them (at least ten) reached. kFailedPrecondition: nothing varies, or too
// few trials have a value.
Result<StoredImportance> WeighParameters(const FoundSweep& sweep, const Objective& objective,
                                         const SearchSpace& space, std::vector<WeighedTrial> trials,
                                         Database& database);

}  // namespace tune
