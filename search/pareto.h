// Several objectives at once: which points are better than which, and how much a set of them
// covers. A point is a list of losses: lower is better, all lists of a call have the same length,
// and no number is NaN.
//
// Sources: fronts by sorting and binary search (Zhang et al., "An Efficient Approach to
// Nondominated Sorting for Evolutionary Multiobjective Optimization", IEEE TEVC 19(2), 2015);
// hypervolume by exclusive parts (While, Bradstreet, Barone, "A Fast Way of Calculating Exact
// Hypervolumes", IEEE TEVC 16(1), 2012); greedy choice and its bound (Nemhauser,
// Wolsey, Fisher, "An Analysis of Approximations for Maximizing Submodular Set Functions", 1978);
// crowding (Deb et al., "A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II", IEEE TEVC
// 6(2), 2002, section III.B).
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tune {

using LossPoint = std::vector<double>;
using LossPoints = std::span<const LossPoint>;

// Nowhere worse and somewhere better. Equal points do not dominate each other.
bool Dominates(const LossPoint& a, const LossPoint& b);

// For each point the number of its front: 0 where no point dominates it, 1 where only those of
// front 0 do, and so on.
std::vector<size_t> NonDominationRanks(LossPoints points);

// The same where points have to keep limits, by the constrained domination of Deb et al. (2002,
// section VI-A): feasible points, whose violation is 0, have the fronts that they have among
// themselves; behind them come the others, each a front of those with its violation, the smaller
// ones first.
std::vector<size_t> ConstrainedRanks(LossPoints points, std::span<const double> violations);

// How lonely each point is among these (of one front, usually): the sum over the objectives of the
// distance between its two neighbours, in parts of the objective's range. The ends are at infinity.
std::vector<double> CrowdingDistances(LossPoints points);

// The volume of what the points dominate, bounded by `reference`. A point that does not lie below
// the reference in every objective adds nothing. Losses of -inf have no finite volume. Exponential
// in the number of objectives; n log n for two.
double Hypervolume(LossPoints points, const LossPoint& reference);

// A reference where none was given: beyond the worst of each objective by a tenth of the way from
// its best, or by `least` where that is more. Beyond the worst of the front alone did worse: its
// ends then count for little. Requires a point.
LossPoint BeyondTheWorst(LossPoints points, double least);

// What each point adds to the hypervolume of all the others.
std::vector<double> HypervolumeContributions(LossPoints points, const LossPoint& reference);

// The indices of `count` points that together cover much: each next one is that which adds most to
// those before it, the earlier of two alike. At least 1 - 1/e of the best possible volume.
// Requires count <= points.size().
std::vector<size_t> ChooseByHypervolume(LossPoints points, const LossPoint& reference,
                                        size_t count);

}  // namespace tune
