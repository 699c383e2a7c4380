// The tree-structured Parzen estimator (Bergstra, Bardenet, Bengio, Kegl, "Algorithms for
// Hyper-Parameter Optimization", NIPS 2011; its parts are compared by Watanabe, "Tree-Structured
// Parzen Estimator", arXiv 2304.11127, 2023): past trials are split into good and bad, each half
// becomes a density, and of some draws from the good one the one that is least likely under the bad
// one is suggested. See search/trial_split.h, search/tpe_model.h and search/parzen_estimator.h.
//
// The first trials are random search's, as is one for which too many draws were had before or are
// not allowed. No configuration is suggested twice; a finite space ends when all were had.
//
// Suggest costs O(n d) for n trials of d parameters.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>

#include "search/searcher.h"
#include "search/tpe_model.h"
#include "search/trial_split.h"

namespace tune {

// Optuna's names. Where the defaults differ (gamma is there 0.1 and at most 25; multivariate is
// off), these did better on bench/search_quality.
struct TpeOptions {
  int64_t n_startup_trials = 10;  // Random until so many trials have a value.
  bool constant_liar = true;      // Running trials without a value count as bad.
  double gamma = 0.15;            // The share of good trials.
  TpeModelOptions model;
  // Of BOHB alone: the share of trials that are random all the same.
  double random_fraction = 0;
};

// {algorithm: tpe, n_startup_trials: ..., ...}. Any number of objectives.
Result<std::unique_ptr<Searcher>> MakeTpeSearcher(const Value& options,
                                                  const SearchProblem& problem);

// {algorithm: bohb, ...}: the model of BOHB (Falkner, Klein, Hutter, ICML 2018), for any scheduler
// that stops or pauses: good are the best at the highest iteration that enough trials have reached.
// Random until there is one. One objective.
Result<std::unique_ptr<Searcher>> MakeBohbSearcher(const Value& options,
                                                   const SearchProblem& problem);

}  // namespace tune
