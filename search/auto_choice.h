// `algorithm: auto`: which searcher fits a space and a budget, and why.
//
// Thread rule: pure functions.
#pragma once

#include <memory>
#include <string>

#include "core/status.h"
#include "core/value.h"
#include "search/searcher.h"

namespace tune {

struct AutoChoice {
  Value search;     // {algorithm: NAME}.
  std::string why;  // For a person: "gp: 3 parameters and 50 trials, ...".
};

// The first rule that fits decides:
// - Nothing to choose from, or grid_search in the space: random.
// - An earlier sweep as a prior, of one objective: gp, which alone has one.
// - Several objectives: gp; for more than 500 trials or more than four objectives tpe; from a
//   thousand trials on nsga2.
// - A countable space no larger than the budget without points: grid. Too few trials to learn from:
// sobol. (Not
//   with an earlier sweep: grid and sobol learn nothing.)
// - Thousands of trials over numbers: cmaes.
// - More than 50 parameters: tpe.
// - Anything else: gp, which tpe joins where results say so (search/auto_searcher.h).
//
// docs/CHOOSING.md has the measurements behind it. SearchProblem::rules says which rules an
// older sweep keeps.
AutoChoice ChooseAlgorithm(const SearchProblem& problem);

// Takes `per` beside `algorithm`, which counts where gp leads.
Result<std::unique_ptr<Searcher>> MakeAutoSearcher(const Value& options,
                                                   const SearchProblem& problem);

}  // namespace tune
