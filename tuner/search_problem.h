// What a spec asks its searcher for.
//
// Thread rule: pure functions.
#pragma once

#include <vector>

#include "search/searcher.h"
#include "tuner/decision_version.h"
#include "tuner/experiment_spec.h"

namespace tune {

// The space with its constraints. Errors carry "line:column: ".
Result<SearchSpace> SpaceOf(const ExperimentSpec& spec);

// The spec has been checked. `samples`: of the sweep now; it may have been extended since the spec
// was written. `decision_version`: of the sweep.
SearchProblem ProblemOf(const ExperimentSpec& spec, SearchSpace space, int64_t samples,
                        uint64_t seed, int64_t decision_version = kDecisionVersion);

// Gives what the spec's `from` brings to the searcher: as its own trials, or as its prior.
void Teach(const ExperimentSpec& spec, std::vector<EarlierTrial> earlier, SearchProblem& problem);

// As TrialCount, of a spec that has been checked. `decision_version`: of the sweep.
int64_t TrialCountOf(const ExperimentSpec& spec, const SearchSpace& space, int64_t samples,
                     int64_t decision_version = kDecisionVersion);

}  // namespace tune
