// The functions on which searchers are compared where results have to keep limits: what counts is
// the best value of those that keep them. Lower is better; a margin above 0 breaks its limit.
//
// `gardner`: Gardner, Kusner, Xu, Weinberger, Cunningham, "Bayesian Optimization with Inequality
// Constraints", ICML 2014, simulation 1. `gramacy`: Gramacy et al., "Modeling an Augmented
// Lagrangian for Blackbox Constrained Optimization", Technometrics 58(1), 2016, section 2.
// `hartmann6_ball`: Letham, Karrer, Ottoni, Bakshy, "Constrained Bayesian Optimization with Noisy
// Experiments", Bayesian Analysis 14(2), 2019, section 5. `spring` and `vessel`: Coello, Mezura,
// "Constraint-Handling in Genetic Algorithms Through the Use of Dominance-Based Tournament
// Selection", Advanced Engineering Informatics 16, 2002, sections A.2 and A.3. The others are ours
// and stand for tuning: the error of a network that must be fast, small and fair.
//
// Thread rule: immutable.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/configuration.h"

namespace tune {

struct LimitedFunction {
  std::string_view name;
  std::string_view space;  // JSON, as a spec's `space`.
  size_t limits = 0;
  double worst = 0;  // What a searcher that has found nothing feasible is charged.
  // The value, then a margin for each limit.
  std::vector<double> (*values)(const Configuration&);
};

std::span<const LimitedFunction> LimitedFunctions();

}  // namespace tune
