// What a spec asks its searcher for.
//
// Thread rule: a pure function.
#pragma once

#include "search/searcher.h"
#include "tuner/experiment_spec.h"

namespace tune {

// `samples`: of the sweep now; it may have been extended since the spec was written.
SearchProblem ProblemOf(const ExperimentSpec& spec, SearchSpace space, int64_t samples,
                        uint64_t seed);

}  // namespace tune
