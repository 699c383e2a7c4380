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
// NSGA-III is the same but for which member of a front leaves, and which of two parents is taken:
// in place of the distance to its neighbours the niche counts (search/reference_niches.h). The one
// from the niche with the most members leaves, of one niche the one that is furthest from its
// direction. With four objectives and more nearly all points are on one front and far from each
// other, so that distances say little.
//
// Limits on results: constrained domination, as ConstrainedRanks of search/pareto.h.
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
  bool has_niches = false;                   // NSGA-III.
};

// {algorithm: nsga2, population_size: ..., ...}. Any number of objectives.
Result<std::unique_ptr<Searcher>> MakeNsga2Searcher(const Value& options,
                                                    const SearchProblem& problem);

// {algorithm: nsga3, ...}, with the same options. Two objectives or more.
Result<std::unique_ptr<Searcher>> MakeNsga3Searcher(const Value& options,
                                                    const SearchProblem& problem);

}  // namespace tune
