#include "tuner/search_problem.h"

#include <utility>
#include <vector>

#include "core/check.h"
#include "schedulers/trial_scheduler.h"
#include "search/points.h"

namespace tune {

namespace {

SearchRules RulesOf(int64_t decision_version) {
  return decision_version >= 16   ? SearchRules::kFrom16
         : decision_version >= 15 ? SearchRules::kFrom15
         : decision_version >= 14 ? SearchRules::kFrom14
         : decision_version >= 13 ? SearchRules::kFrom13
                                  : SearchRules::kFirst;
}

}  // namespace

Result<SearchSpace> SpaceOf(const ExperimentSpec& spec) {
  return SearchSpace::Parse(spec.space, spec.constraints);
}

SearchProblem ProblemOf(const ExperimentSpec& spec, SearchSpace space, int64_t samples,
                        uint64_t seed, int64_t decision_version) {
  SearchProblem problem;
  problem.rules = RulesOf(decision_version);
  problem.space = std::move(space);
  problem.modes = {spec.mode};
  for (const Objective& objective : spec.more_objectives) problem.modes.push_back(objective.mode);
  problem.limit_count = spec.feasible.size();
  problem.needs_regret = spec.regret_max.has_value();
  problem.samples = samples;
  problem.seed = seed;
  problem.has_earlier = !spec.from.empty();
  problem.has_prior = spec.from_is_prior;
  problem.max_t = SchedulerMaxT(spec.scheduler);
  Result<std::vector<Configuration>> points = ReadPoints(spec.points, problem.space);
  TUNE_CHECK(points.ok());
  problem.points = *std::move(points);
  return problem;
}

void Teach(const ExperimentSpec& spec, std::vector<EarlierTrial> earlier, SearchProblem& problem) {
  (spec.from_is_prior ? problem.prior : problem.history) = std::move(earlier);
}

int64_t TrialCountOf(const ExperimentSpec& spec, const SearchSpace& space, int64_t samples,
                     int64_t decision_version) {
  const size_t points = spec.points.is_list() ? spec.points.AsList().size() : 0;
  return TrialCount(spec.search, space, samples, static_cast<int64_t>(points),
                    RulesOf(decision_version));
}

}  // namespace tune
