// Which parameters mattered: how differently the best configurations are spread over each of them
// than all are. PED-ANOVA (Watanabe, Bansal, Hutter, "PED-ANOVA: Efficiently Quantifying
// Hyperparameter Importance in Arbitrary Subspaces", IJCAI 2023): the Pearson divergence of the two
// densities of one parameter, theorem 1 and equation 13, in the unit space.
//
// What differs from the paper: the configurations are not the trials themselves. A search that
// learns, and a scheduler that stops, leave trials where all parameters have narrowed down
// together, and the divergences would tell that. So a forest (search/regression_forest.h) is grown
// on the trials, and what it predicts for random configurations of the space is looked at; the best
// tenth of them are the best. A parameter under a condition is looked at among the configurations
// that have it, and counts by its part in the best ones.
//
// How sure that is: the shares again for trials drawn anew with replacement (bootstrap; Efron,
// Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13), and whether the losses
// depend on a parameter at all (search/dependence_test.h).
//
// Thread rule: a pure function; its draws have fixed keys.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "search/space.h"

namespace tune {

struct ParameterImportance {
  std::string name;
  double share = 0;  // Of all; they add up to 1, or are all 0 where all losses are alike.
  // Nine tenths of the shares of trials drawn anew lie between these.
  double low = 0;
  double high = 0;
  // Whether the losses depend on it. Where they depend on nothing, one sweep in 20 has a parameter
  // that is called clear.
  bool is_clear = false;
};

// The fewest trials from which anything is said.
inline constexpr size_t kImportanceTrialsMin = 10;

// For each parameter with a domain, in the order of the space. `losses`: one for each
// configuration, the lower the better, not NaN. Requires kImportanceTrialsMin configurations of
// this space.
std::vector<ParameterImportance> Importances(const SearchSpace& space,
                                             std::span<const Configuration> configurations,
                                             std::span<const double> losses);

}  // namespace tune
