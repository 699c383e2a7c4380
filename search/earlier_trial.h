// A trial of an earlier sweep, for a searcher to learn from.
//
// Thread rule: values, pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/configuration.h"
#include "core/metric.h"
#include "core/status.h"
#include "search/space.h"

namespace tune {

struct EarlierTrial {
  struct Report {
    int64_t iteration = 0;
    std::vector<Metric> values;  // One for each objective.
  };

  Configuration configuration;  // Of the present space.
  std::vector<Report> reports;  // Rising iterations.
  bool has_failed = false;
};

// The configuration as one of `space`: the same parameters, each value in its domain (and made the
// domain's own) or equal to the constant, the constraints kept. Otherwise an error that says what
// does not fit.
Result<Configuration> FitToSpace(const Configuration& configuration, const SearchSpace& space);

}  // namespace tune
