#include "tuner/search_problem.h"

#include <utility>

#include "schedulers/trial_scheduler.h"

namespace tune {

Result<SearchSpace> SpaceOf(const ExperimentSpec& spec) {
  return SearchSpace::Parse(spec.space, spec.constraints);
}

SearchProblem ProblemOf(const ExperimentSpec& spec, SearchSpace space, int64_t samples,
                        uint64_t seed) {
  SearchProblem problem;
  problem.space = std::move(space);
  problem.modes = {spec.mode};
  for (const Objective& objective : spec.more_objectives) problem.modes.push_back(objective.mode);
  problem.samples = samples;
  problem.seed = seed;
  problem.max_t = SchedulerMaxT(spec.scheduler);
  return problem;
}

}  // namespace tune
