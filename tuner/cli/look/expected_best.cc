#include "tuner/cli/look/expected_best.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/standing.h"
#include "search/gp/expected_losses.h"
#include "search/unit_space.h"
#include "tuner/best_trial.h"
#include "tuner/cli/look/stored_importance.h"
#include "tuner/search_problem.h"

namespace tune {
namespace {

// Those whose results say what their configuration comes to.
Result<std::vector<WeighedTrial>> ReadWholeTrials(Database& database, const FoundSweep& sweep,
                                                  const UnitSpace& space) {
  TUNE_ASSIGN_OR_RETURN(std::vector<WeighedTrial> trials, ReadWeighedTrials(database, sweep));
  std::erase_if(trials, [&](const WeighedTrial& trial) {
    return !trial.is_over || trial.was_stopped || !Finite(trial.best_value) ||
           !space.CellsOf(trial.configuration);
  });
  return trials;
}

double Loss(const WeighedTrial& trial, const FoundSweep& sweep) {
  return AsLoss(*trial.best_value, sweep.direction());
}

// What violates less first, as everywhere; of runs of one configuration the one that came out best.
bool ComesBefore(const WeighedTrial& a, const ExpectedLoss& expected_a, const WeighedTrial& b,
                 const ExpectedLoss& expected_b, const FoundSweep& sweep) {
  if (a.violation.value_or(0) != b.violation.value_or(0)) {
    return a.violation.value_or(0) < b.violation.value_or(0);
  }
  if (a.number / sweep.repeat != b.number / sweep.repeat) {
    return expected_a.middle < expected_b.middle;
  }
  return Loss(a, sweep) < Loss(b, sweep);
}

}  // namespace

Result<ExpectedBest> FindExpectedBest(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec, ReadStoredSpec(database, sweep));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  const UnitSpace unit(space);
  if (unit.size() == 0) {
    return FailedPrecondition(sweep.name + ": all of its parameters are constants");
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<WeighedTrial> trials,
                        ReadWholeTrials(database, sweep, unit));
  if (trials.size() < kExpectedLossesMin) {
    return FailedPrecondition(
        sweep.name + ": what to expect is told from " + std::to_string(kExpectedLossesMin) +
        " trials that were neither stopped nor failed; there " +
        (trials.size() == 1 ? "is" : "are") + " " + std::to_string(trials.size()));
  }
  std::vector<Configuration> configurations;
  std::vector<double> losses;
  for (const WeighedTrial& trial : trials) {
    configurations.push_back(trial.configuration);
    losses.push_back(Loss(trial, sweep));
  }
  const std::vector<ExpectedLoss> expected = ExpectedLosses(space, configurations, losses);
  size_t best = 0;
  for (size_t i = 1; i < trials.size(); ++i) {
    if (ComesBefore(trials[i], expected[i], trials[best], expected[best], sweep)) best = i;
  }
  // A loss is the value, or its negative.
  const auto value = [&](double loss) { return AsLoss(loss, sweep.direction()); };
  const auto [low, high] = std::minmax({value(expected[best].low), value(expected[best].high)});
  return ExpectedBest{trials[best].number, value(expected[best].middle), low, high, trials.size()};
}

}  // namespace tune
