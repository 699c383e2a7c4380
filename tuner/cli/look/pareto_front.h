// The trials that no other is better than: what a sweep of several objectives has in place of a
// best one. A trial counts with the last report that has all of the objectives; failed ones do not
// count.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/experiment_spec.h"
#include "tuner/sqlite/database.h"

namespace tune {

struct ObjectiveValues {
  int64_t trial = 0;           // Its number.
  std::vector<double> values;  // One for each objective.
  double violation = 0;        // Of limits on results (core/standing.h).
};

// Those that no other dominates, in the order given. Of trials that break limits none, unless all
// do: then those that violate them least, the first of search/pareto.h's ConstrainedRanks.
std::vector<ObjectiveValues> ParetoFront(const std::vector<ObjectiveValues>& trials,
                                         const std::vector<Objective>& objectives);

// The metrics of each trial's last report that has a finite value of each objective and keeps to
// the constraints, by number: what a trial of several objectives counts with, wherever it is shown.
// Of an iteration that came again after a retry it is the first report, as for the search.
Result<std::map<int64_t, Value>> ReadWholeReports(Database& database, const FoundSweep& sweep);

// Of each trial that did not fail and has such a report, by number.
Result<std::vector<ObjectiveValues>> ReadObjectiveValues(Database& database,
                                                         const FoundSweep& sweep);

// Of a stored sweep, by number.
Result<std::vector<ObjectiveValues>> ReadParetoFront(Database& database, const FoundSweep& sweep);

// Said loudly of a front that keeps no limits; empty: it keeps them.
std::string WarningOf(const std::vector<std::string>& limits,
                      const std::vector<ObjectiveValues>& front);

// "4 trials (0, 3, 7, 12)", long lists cut.
std::string DescribeFront(const std::vector<ObjectiveValues>& front);

}  // namespace tune
