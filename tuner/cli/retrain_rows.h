// What a retrained sweep is made of and what it came to, from the database.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "tuner/cli/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

// A configuration of a sweep.
struct BestConfiguration {
  std::string flat;  // As it is stored.
  Configuration configuration;
  int64_t trial = 0;  // The best of those that had it.
  double value = 0;   // The mean of their best values.
};

// By value, whether their trials completed or not; at most `count`, each once.
Result<std::vector<BestConfiguration>> ReadBestConfigurations(Database& database,
                                                              const FoundSweep& sweep,
                                                              int64_t count);

// What the trials of one configuration came to.
struct RetrainedConfiguration {
  std::string flat;
  std::vector<double> values;  // The best of each trial that reported.
  int64_t trial_count = 0;

  std::optional<double> mean() const;
  std::optional<double> deviation() const;  // Of a sample: nothing for less than two.
};

// In order of their first trials.
Result<std::vector<RetrainedConfiguration>> ReadRetrained(Database& database,
                                                          const FoundSweep& sweep);

}  // namespace tune
