// How surely one thing is worse than another, from pairs: Wilcoxon, "Individual Comparisons by
// Ranking Methods", Biometrics Bulletin 1(6), 1945.
//
// Thread rule: pure functions.
#pragma once

#include <span>

namespace tune {

// P that as many and as great differences are above 0 by chance alone, each having either sign with
// probability 1/2 (one-sided). Differences of 0 are ranked and count half for each side (Pratt's
// ranks, split, as SciPy's zero_method="zsplit"); those of equal size share the mean of their
// ranks. Up to 50 differences that are not 0 exactly, beyond by the normal distribution. 1 where
// there are none. Requires finite differences.
double SignedRankP(std::span<const double> differences);

}  // namespace tune
