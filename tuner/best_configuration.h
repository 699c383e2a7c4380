// Which configuration of a sweep is its best where each is tried several times (`repeat: k`): the
// one whose runs have the best mean of their best values, not the one with the luckiest run; in a
// sweep with limits on results the least mean violation goes first (core/standing.h).
//
// A run counts when its trial has ended, or rests paused by its scheduler, and may be the best one
// by tuner/best_trial.h; while no run of a configuration has come so far, those that train count.
// Configurations all of whose runs count come before the others, those with more than half of them
// before the rest: the mean of a run or two is luck. Of equal ones the earlier one is better.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/metric.h"
#include "core/value.h"
#include "tuner/best_trial.h"

namespace tune {

struct Run {
  int64_t trial = 0;  // Trials n * repeat ... n * repeat + repeat - 1 are runs of configuration n.
  TrialStatus status = TrialStatus::kPending;
  Metric best_value;
  Metric violation = {};  // Of that; nothing: the sweep has no limits.
};

struct ConfigurationRuns {
  int64_t number = 0;
  int64_t repeat = 1;
  std::vector<int64_t> trials;  // Those that count, by number; at least one.
  double mean = 0;
  // The mean of the runs': 0 where each is feasible, kViolationUnknown where one is unknown.
  double violation = 0;
  int64_t feasible_count = 0;       // Of the runs that count.
  std::optional<double> deviation;  // Of a sample: nothing for one run.
  int64_t best_trial = 0;
  double best = 0;
  double worst = 0;

  int64_t count() const { return static_cast<int64_t>(trials.size()); }
};

// The configurations that have a run that counts, the best first. Runs come in order of number.
std::vector<ConfigurationRuns> RankConfigurations(std::span<const Run> runs, int64_t repeat,
                                                  Mode mode,
                                                  FailedTrials failed = FailedTrials::kLeaveOut);

// As answers in JSON tell it: {"mean":..., "deviation":..., "count":3, "repeat":3, "trials":[...]}.
Value RunsValue(const ConfigurationRuns& runs);

// The ranking as a query over `trials`, of a sweep whose trials have ended.
std::string RankConfigurationsSql(int64_t experiment, int64_t repeat, Mode mode,
                                  bool has_limits = false);

}  // namespace tune
