// Which parameters mattered: how much of the losses' variance over the space is due to each, alone
// and together with others. That is the total-effect index of Sobol', estimated as Jansen does
// ("Analysis of variance designs for model output", Computer Physics Communications 117, 1999), in
// the unit space, of what a forest (search/regression_forest.h) predicts that was grown on the
// trials, as in functional ANOVA (Hutter, Hoos, Leyton-Brown, "An Efficient Approach for Assessing
// Hyperparameter Importance", ICML 2014). The configurations looked at are random ones, not the
// trials: a search that learns, and a scheduler that stops, leave trials where all parameters have
// narrowed down together. A parameter under a condition changes nothing where it does not exist;
// whether it exists is due to the parameter that the condition names.
//
// How sure that is: the shares again for trials drawn anew with replacement (bootstrap; Efron,
// Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13), and whether the losses
// depend on a parameter at all (search/dependence_test.h), of what the other parameters leave
// (search/partial_losses.h).
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
  // Whether the losses depend on it by itself, as they do not on one of two whose product decides.
  // Where they depend on nothing, one sweep in 20 has a parameter that is called clear; of a sweep
  // whose search learned, one in ten at most has another one than those that matter.
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
