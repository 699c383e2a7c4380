// What a retrained sweep is made of and what it came to, from the database.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

// A configuration of a sweep.
struct BestConfiguration {
  std::string flat;  // As it is stored.
  Configuration configuration;
  int64_t trial = 0;            // The best of those that had it.
  std::vector<double> values;   // Of each objective; of one the mean of their best values.
  int64_t earlier_configs = 0;  // That the trial was trained with before.
  double violation = 0;         // Of limits on results, the mean of its trials'.
};

// By value, whether their trials completed or not; at most `count`, each once. With `repeat` by the
// rule of tuner/best_configuration.h. Of several objectives the Pareto front, by number.
Result<std::vector<BestConfiguration>> ReadBestConfigurations(Database& database,
                                                              const FoundSweep& sweep,
                                                              int64_t count);

// Of these trials, in their order. kInvalidArgument for a number that there is not.
Result<std::vector<BestConfiguration>> ReadConfigurations(Database& database,
                                                          const FoundSweep& sweep,
                                                          const std::vector<int64_t>& trials);

// The first trial that had each configuration, failed ones too, by the configuration's stored form.
Result<std::map<std::string, int64_t>> ReadFirstTrials(Database& database, const FoundSweep& sweep);

// What the trials of one configuration came to, by one objective. Trials that failed, run or wait
// have no value in it: what they reported is no result of a whole run.
struct RetrainedConfiguration {
  std::string flat;
  // The best of each trial that has ended without failing; of several objectives those of its last
  // whole report.
  std::vector<double> values;
  int64_t trial_count = 0;
  int64_t failed_count = 0;

  std::optional<double> mean() const;
  std::optional<double> deviation() const;  // Of a sample: nothing for less than two.
};

// In order of their first trials. `objective`: its place among the sweep's.
Result<std::vector<RetrainedConfiguration>> ReadRetrained(Database& database,
                                                          const FoundSweep& sweep,
                                                          size_t objective = 0);

}  // namespace tune
