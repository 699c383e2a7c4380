// Which past trials a Parzen model takes for good and which for bad: the split of Bergstra,
// Bardenet, Bengio, Kegl, "Algorithms for Hyper-Parameter Optimization", NIPS 2011, section 4.
//
// A trial is ranked when it has a value, a running or paused one too, by what it has reported so
// far. Bad are all others: those that failed or ended without a value, and running ones, so that
// the next configuration keeps away from them.
//
// Limits on results: feasible trials come before infeasible ones, and of these those that violate
// less come first (core/standing.h), as in Optuna's TPESampler with constraints_func; of several
// losses by ConstrainedRanks (search/pareto.h). Watanabe, Hutter, "c-TPE: Tree-Structured Parzen
// Estimator with Inequality Constraints for Expensive Hyperparameter Optimization", IJCAI 2023,
// splits by each limit by itself; here one split serves all.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "search/trial_observations.h"

namespace tune {

struct SplitRule {
  // Of n ranked trials, ceil(gamma * n) are good, at most good_max.
  double gamma = 0.15;
  size_t good_max = 100;
  // What a running trial without a value weighs, beside a bad one's 1. Less than 1 did better on
  // bench/search_quality with 4 and 16 trials at a time.
  double running_weight = 0.3;
};

struct TrialSplit {
  std::vector<size_t> good;          // Places among the trials; the best first.
  std::vector<double> good_weights;  // Above 0; as many in sum as there are.
  std::vector<double> bad_weights;   // For each trial; 0: not bad.
  size_t ranked_count = 0;
};

// By the one loss, lower is better, the earlier of two alike. The better weigh more: the i-th of n
// log(n + 1) - log(i), as in Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv 1604.00772,
// equation 49. With max_t, those that have come further are better whatever their values: trials
// that a scheduler stopped come after the whole ones (as in Optuna), and their early values are
// never compared with late ones.
TrialSplit SplitByLoss(const std::vector<ObservedTrial>& trials, const SplitRule& rule,
                       std::optional<int64_t> max_t);

// As BOHB (Falkner, Klein, Hutter, ICML 2018, section 4.1): ranked are the trials that reported a
// value at the highest iteration where at least 2 * good_min did, by that value; good_min of them
// or more are good. Nothing where there is no such iteration. A trial that was told of at its end
// alone counts at the highest iteration of all.
std::optional<TrialSplit> SplitAtHighestLevel(const std::vector<ObservedTrial>& trials,
                                              const SplitRule& rule, size_t good_min);

// Of several losses: by fronts, and within the one that does not fit, those that together cover the
// most; weights in proportion to what each adds to the volume covered (Ozaki, Tanigaki, Watanabe,
// Onishi, "Multiobjective Tree-Structured Parzen Estimator for Computationally Expensive
// Optimization Problems", GECCO 2020, section 3). A trial with an infinite loss is not ranked.
TrialSplit SplitByFronts(const std::vector<ObservedTrial>& trials, const SplitRule& rule);

}  // namespace tune
