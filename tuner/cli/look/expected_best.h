// Which trial of a stored sweep is best by what is expected of its configuration, not by what it
// was lucky to report (search/gp/expected_losses.h).
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

struct ExpectedBest {
  int64_t trial = 0;  // With `repeat` the best run of the configuration.
  // In the metric's units; it lies between the bounds in two of three cases.
  double value = 0;
  double low = 0;
  double high = 0;
  size_t trial_count = 0;  // From whose results.
};

// Of a sweep with one metric. Trials that failed, have no value or were stopped early tell nothing
// of it; where some keep the limits on results, one of those is best. kFailedPrecondition: all
// parameters are constants, or too few trials are left.
Result<ExpectedBest> FindExpectedBest(Database& database, const FoundSweep& sweep);

}  // namespace tune
