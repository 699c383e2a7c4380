// Niches of many objectives: directions spread evenly over all ways to weigh them, and which one
// each point is nearest to. Deb, Jain, "An Evolutionary Many-Objective Optimization Algorithm Using
// Reference-Point-Based Nondominated Sorting Approach, Part I: Solving Problems With Box
// Constraints", IEEE TEVC 18(4), 2014 (NSGA-III), sections IV-B to IV-D.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/pareto.h"

namespace tune {

// The points of the unit simplex whose coordinates are multiples of 1 / p (Das, Dennis,
// "Normal-Boundary Intersection", SIAM J. Optimization 8(3), 1998), for the greatest p with which
// there are at most `count_max`. At least the corners. Requires two objectives or more.
std::vector<LossPoint> SimplexDirections(size_t objectives, size_t count_max);

struct Niche {
  size_t direction = 0;
  double distance = 0;  // Of the point to the line along its direction, objectives being scaled.
};

// `ranks`: of the points, as ConstrainedRanks. Each objective is scaled so that the best of front 0
// is at 0 and the intercept of the plane through its extreme points at 1; where they span no plane,
// its worst is at 1. An infinite loss counts as far beyond.
std::vector<Niche> NichesOf(LossPoints points, std::span<const size_t> ranks,
                            const std::vector<LossPoint>& directions);

}  // namespace tune
