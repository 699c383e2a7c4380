// NSGA-II: parents that few others dominate, crossed and mutated. Deb, Pratap, Agarwal, Meyarivan,
// "A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II", IEEE TEVC 6(2), 2002.
//
// The population changes with each trial that ends, not by generations, so that no worker waits for
// another (the steady-state form: Durillo, Nebro, Luna, Alba, "On the Effect of the Steady-State
// Selection Scheme in Multi-Objective Genetic Algorithms", EMO 2009): of the last front the most
// crowded one leaves. A trial that failed or lacks one of the metrics never joins it.
//
// A child has each parameter from one of its parents. A mutated number or ordinal stays near
// (polynomial mutation: Deb, Goyal, "A Combined Genetic Adaptive Search (GeneAS) for Engineering
// Design", 1996), a mutated choice is drawn anew, as is a parameter that neither parent has. A
// child that the constraints do not allow, or that was had before, is made again; where too many
// were, the trial is random search's, as the first population_size ones are.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "search/searcher.h"

namespace tune {

// Names and defaults as Optuna's.
struct Nsga2Options {
  int64_t population_size = 50;
  double crossover_prob = 0.9;
  double swapping_prob = 0.5;                // Of each parameter to be the second parent's.
  std::optional<double> mutation_prob = {};  // Of each parameter; one in their number.
};

// {algorithm: nsga2, population_size: ..., ...}. Any number of objectives.
Result<std::unique_ptr<Searcher>> MakeNsga2Searcher(const Value& options,
                                                    const SearchProblem& problem);

}  // namespace tune
