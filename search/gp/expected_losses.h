// What configurations that were tried are expected to come to if they were tried again: the mean of
// a Gaussian process at each, which has heard of all of them. Under noise the best result belongs
// to who was lucky more often than to who is best; the process takes the luck out as far as
// neighbours tell (Frazier, "A Tutorial on Bayesian Optimization", arXiv 1807.02811, 2018, section
// 4.2, recommends the point with the best posterior mean).
//
// Thread rule: a pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "core/configuration.h"
#include "search/space.h"

namespace tune {

// Of the loss that is there without the noise: its median, and the bounds between which it lies in
// two of three cases (one standard deviation of what the process sees).
struct ExpectedLoss {
  double middle = 0;
  double low = 0;
  double high = 0;
};

inline constexpr size_t kExpectedLossesMin = 10;

// One for each of `configurations`, which may be equal to each other: runs of one that was
// repeated. Their losses are numbers. Requires kExpectedLossesMin configurations of `space`, which
// has parameters that vary.
std::vector<ExpectedLoss> ExpectedLosses(const SearchSpace& space,
                                         const std::vector<Configuration>& configurations,
                                         const std::vector<double>& losses);

}  // namespace tune
