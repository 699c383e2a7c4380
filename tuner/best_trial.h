// Which value of a trial is its best, and which trial of a sweep: the one rule, for the records of
// a tuner and for the rows of a database. Where configurations are tried several times, which of
// them is the best: tuner/best_configuration.h.
//
// A value counts when it is finite (core/metric.h) and is the trial's first at that iteration with
// that configuration. In a sweep with limits on results (`feasible`) what keeps them is better than
// what breaks them, and of two that break them the one that violates less (core/standing.h): where
// none keeps them, the best trial is the one that violates least, and each answer says so. Of equal
// values the earlier one is the best. A trial in ERROR is never the
// best one: nobody knows whether what it reported was right.
//
// A trial that exploits others (schedulers/pbt_scheduler.h) has several configurations, and may
// come to an iteration again. Those that it had had before, and that the checkpoint which
// it took over had passed, are trained again where that was damaged, and do not count. The
// configuration that is shown beside its best value is the one that the value was reported with.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "core/metric.h"
#include "core/standing.h"
#include "tuner/transition.h"

namespace tune {

// Takes a value that counts into the trial's row; whether it is its best. `violation`: of a sweep
// with limits.
inline bool TakeValue(int64_t iteration, Metric value, Mode mode, TrialRow& row,
                      Metric violation = {}) {
  if (iteration > row.iterations) {
    row.iterations = iteration;
    row.last_value = value;
  }
  if (!value) return false;
  if (row.best_value &&
      !IsBetterStanding(*value, violation, *row.best_value, row.best_violation, mode)) {
    return false;
  }
  row.best_value = value;
  row.best_violation = violation;
  row.best_iteration = iteration;
  return true;
}

// Whether `trial` takes the place of `best`, which may be null. Trials come in order of number.
inline bool IsBetterTrial(const TrialRow& trial, const TrialRow* best, Mode mode) {
  return trial.best_value &&
         (best == nullptr || IsBetterStanding(*trial.best_value, trial.best_violation,
                                              *best->best_value, best->best_violation, mode));
}

// Whether a trial in ERROR may be the best one: only where a person asks for it.
enum class FailedTrials { kLeaveOut, kCount };

inline bool MayBeBest(TrialStatus status, Metric best_value,
                      FailedTrials failed = FailedTrials::kLeaveOut) {
  return best_value && (status != TrialStatus::kError || failed == FailedTrials::kCount);
}
inline bool MayBeBest(const TrialRow& trial) { return MayBeBest(trial.status, trial.best_value); }

// A trial in ERROR whose best value is better than that of the best trial, or than none.
struct FailedBest {
  int64_t number = 0;
  int64_t iterations = 0;  // Where it failed.
  double value = 0;
  Metric violation = {};  // Of a sweep with limits.
};

// Why no trial is the best one.
struct NoBest {
  bool has_failed_best = false;  // See FailedBest.
  bool is_constrained = false;   // By metric_constraints.
  bool has_iterations = false;   // Of any trial: then all its values are nan or infinite.

  // "no trial has reported acc". `metrics`: as a person reads them.
  std::string Why(const std::string& metrics) const {
    const std::string what = metrics + (is_constrained ? " and kept to metric_constraints" : "");
    if (has_failed_best) return "each trial that reported " + what + " failed";
    return "no trial has reported " + std::string(has_iterations ? "a finite " : "") + what;
  }
};

// The same over the columns of `trials`: a condition (9e999 is infinity), and an order that has the
// best first.
// An index has the second half of the condition (schema.cc, version 11).
inline constexpr char kMayBeBestSql[] =
    "abs(best_value) < 9e999 AND best_value IS NOT NULL AND status <> 'ERROR'";
// `violation`: of a sweep with limits its column; empty: the sweep has none, and the index serves.
inline std::string BestFirstSql(Mode mode, const std::string& violation,
                                const std::string& value = "best_value",
                                const std::string& tie = "number") {
  return (violation.empty() ? "" : "coalesce(" + violation + ", 0), ") + value +
         (mode == Mode::kMax ? " DESC" : " ASC") + " NULLS LAST, " + tie;
}

// Over `x` of exploit_rows: the last attempt before the new configuration.
#define TUNE_ATTEMPT_BEFORE_EXPLOIT_SQL                                  \
  "(SELECT max(d.attempt) FROM report_rows AS d WHERE d.trial = x.trial" \
  " AND d.iteration = x.iteration AND d.decision IS NOT NULL)"

// Over `t` of trial_rows and `c` of its configuration_rows: the configuration of its best value,
// or the present one while there is none. FORM is a column of both, "flat" or "nested".
#define TUNE_CONFIG_OF_BEST_SQL(FORM)                                              \
  "coalesce((SELECT x." FORM                                                       \
  " FROM exploit_rows AS x WHERE x.trial = t.id AND"                               \
  " coalesce(" TUNE_ATTEMPT_BEFORE_EXPLOIT_SQL                                     \
  " < (SELECT min(b.attempt)"                                                      \
  " FROM report_rows AS b WHERE b.trial = t.id AND b.iteration = t.best_iteration" \
  " AND b.value = t.best_value), t.best_value IS NULL)"                            \
  " ORDER BY x.id DESC LIMIT 1), c." FORM ")"

// Over `t` of trial_rows: how many configurations it was trained with, one after another, before
// that of its best value. A training with that one alone comes to something else.
#define TUNE_EARLIER_CONFIGS_SQL                                                   \
  "(SELECT count() FROM exploit_rows AS x WHERE x.trial = t.id AND"                \
  " " TUNE_ATTEMPT_BEFORE_EXPLOIT_SQL                                              \
  " < (SELECT min(b.attempt)"                                                      \
  " FROM report_rows AS b WHERE b.trial = t.id AND b.iteration = t.best_iteration" \
  " AND b.value = t.best_value))"

}  // namespace tune
