// A trial of an earlier sweep, for a searcher to learn from.
//
// Thread rule: values, pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/configuration.h"
#include "core/ids.h"
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

// What of the configuration `space` has: those of its values that are in the domain of that name.
// An error where a value is in none, or there is nothing in common. Constants of the space, its
// conditions and constraints are not looked at.
Result<Configuration> ShareOfSpace(const Configuration& configuration, const SearchSpace& space);

// Tells of each under numbers below 0, as of trials that have ended. `Listener`: has what Searcher
// has to restore a trial and to hear of it.
template <typename Listener>
void TellEarlier(const std::vector<EarlierTrial>& trials, size_t objective_count,
                 Listener& listener) {
  for (size_t i = 0; i < trials.size(); ++i) {
    const EarlierTrial& trial = trials[i];
    const TrialNumber number{-1 - static_cast<int64_t>(i)};
    listener.Restore(number, trial.configuration);
    for (const EarlierTrial::Report& report : trial.reports) {
      listener.OnReport(number, report.iteration, report.values);
    }
    const std::vector<Metric> nothing(objective_count);
    listener.OnTrialEnded(number, trial.reports.empty() ? nothing : trial.reports.back().values,
                          trial.has_failed);
  }
}

}  // namespace tune
