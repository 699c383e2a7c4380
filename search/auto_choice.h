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

// In this order: nothing to choose from, or grid_search in the space: random. Several objectives:
// tpe, for more than a thousand trials nsga2. A countable space no larger than the budget: grid.
// Too few trials to learn from: sobol (neither of the two with an earlier sweep: they learn
// nothing). Conditions, mostly choices, or many parameters: tpe. A
// budget that a Gaussian process can use: gp. Thousands of trials over numbers: cmaes; else tpe.
// docs/CHOOSING.md has the measurements behind it.
AutoChoice ChooseAlgorithm(const SearchProblem& problem);

// Takes no options beside `algorithm`.
Result<std::unique_ptr<Searcher>> MakeAutoSearcher(const Value& options,
                                                   const SearchProblem& problem);

}  // namespace tune
