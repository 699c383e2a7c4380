// Which value of a trial is its best, and which trial of a sweep: the one rule, for the records of
// a tuner and for the rows of a database.
//
// A value counts when it is finite (core/metric.h). Of equal values the earlier one is the best. A
// trial in ERROR is never the best one: nobody knows whether what it reported was right.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

#include "core/metric.h"
#include "tuner/transition.h"

namespace tune {

// Takes the value of the next iteration into the trial's row.
inline void TakeValue(int64_t iteration, Metric value, Mode mode, TrialRow& row) {
  row.iterations = iteration;
  row.last_value = value;
  if (!value || (row.best_value && !IsBetter(*value, *row.best_value, mode))) return;
  row.best_value = value;
  row.best_iteration = iteration;
}

// Whether `trial` takes the place of `best`, which may be null. Trials come in order of number.
inline bool IsBetterTrial(const TrialRow& trial, const TrialRow* best, Mode mode) {
  return trial.best_value &&
         (best == nullptr || IsBetter(*trial.best_value, *best->best_value, mode));
}

inline bool MayBeBest(const TrialRow& trial) {
  return trial.best_value.has_value() && trial.status != TrialStatus::kError;
}

// The same over the columns of `trials`: a condition (9e999 is infinity), and an order that has the
// best first.
inline constexpr char kMayBeBestSql[] = "abs(best_value) < 9e999 AND status <> 'ERROR'";
inline const char* BestFirstSql(Mode mode) {
  return mode == Mode::kMax ? "best_value DESC NULLS LAST, number"
                            : "best_value ASC NULLS LAST, number";
}

}  // namespace tune
