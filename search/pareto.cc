#include "search/pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/check.h"

namespace tune {
namespace {

std::vector<size_t> SortedLexicographically(LossPoints points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return points[a] < points[b]; });
  return order;
}

double VolumeBelow(const LossPoint& point, const LossPoint& reference) {
  double volume = 1;
  for (size_t i = 0; i < point.size(); ++i) volume *= std::max(0.0, reference[i] - point[i]);
  return volume;
}

// The part of what `other` dominates that `point` dominates too.
LossPoint Limited(const LossPoint& other, const LossPoint& point) {
  LossPoint limited(point.size());
  for (size_t i = 0; i < point.size(); ++i) limited[i] = std::max(other[i], point[i]);
  return limited;
}

std::vector<LossPoint> WithoutDominated(LossPoints points) {
  std::vector<LossPoint> front;
  for (const size_t i : SortedLexicographically(points)) {
    const bool is_covered = std::any_of(front.begin(), front.end(), [&](const LossPoint& p) {
      return p == points[i] || Dominates(p, points[i]);
    });
    if (!is_covered) front.push_back(points[i]);
  }
  return front;
}

// Requires the lexicographic order of a front: the second loss falls while the first rises.
double AreaOfFront(LossPoints front, const LossPoint& reference) {
  double area = 0;
  double ceiling = reference[1];
  for (const LossPoint& point : front) {
    if (point[0] >= reference[0] || point[1] >= ceiling) continue;
    area += (reference[0] - point[0]) * (ceiling - point[1]);
    ceiling = point[1];
  }
  return area;
}

// What `point` dominates and none of `others` does.
double ExclusiveVolume(const LossPoint& point, LossPoints others, const LossPoint& reference) {
  const double whole = VolumeBelow(point, reference);
  if (whole == 0) return 0;
  std::vector<LossPoint> shared;
  for (const LossPoint& other : others) shared.push_back(Limited(other, point));
  return whole - Hypervolume(shared, reference);
}

}  // namespace

bool Dominates(const LossPoint& a, const LossPoint& b) {
  bool is_better = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    is_better = is_better || a[i] < b[i];
  }
  return is_better;
}

std::vector<size_t> NonDominationRanks(LossPoints points) {
  std::vector<size_t> ranks(points.size());
  std::vector<std::vector<size_t>> fronts;
  // In this order no point dominates one before it. What dominates a member of a front is itself
  // dominated by one of the front before, so the fronts that dominate a point are the first few.
  for (const size_t i : SortedLexicographically(points)) {
    const auto place =
        std::partition_point(fronts.begin(), fronts.end(), [&](const std::vector<size_t>& front) {
          // Of two objectives the last member has the lowest second loss: no other need be looked
          // at.
          const size_t looked_at = points[i].size() <= 2 ? 1 : front.size();
          return std::any_of(front.rbegin(), front.rbegin() + static_cast<ptrdiff_t>(looked_at),
                             [&](size_t j) { return Dominates(points[j], points[i]); });
        });
    ranks[i] = static_cast<size_t>(place - fronts.begin());
    if (place == fronts.end()) {
      fronts.push_back({i});
    } else {
      place->push_back(i);
    }
  }
  return ranks;
}

std::vector<size_t> ConstrainedRanks(LossPoints points, std::span<const double> violations) {
  TUNE_CHECK(points.size() == violations.size());
  std::vector<LossPoint> feasible;
  std::set<double> infeasible;  // Violations.
  for (size_t i = 0; i < points.size(); ++i) {
    if (violations[i] == 0) {
      feasible.push_back(points[i]);
    } else {
      infeasible.insert(violations[i]);
    }
  }
  const std::vector<size_t> among = NonDominationRanks(feasible);
  const size_t fronts = among.empty() ? 0 : *std::max_element(among.begin(), among.end()) + 1;
  std::map<double, size_t> front_of;
  for (const double violation : infeasible) front_of[violation] = fronts + front_of.size();
  std::vector<size_t> ranks;
  size_t next = 0;
  for (const double violation : violations) {
    ranks.push_back(violation == 0 ? among[next++] : front_of.at(violation));
  }
  return ranks;
}

std::vector<double> CrowdingDistances(LossPoints points) {
  std::vector<double> distances(points.size(), 0.0);
  if (points.empty()) return distances;
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t objective = 0; objective < points[0].size(); ++objective) {
    const auto loss = [&](size_t rank) { return points[order[rank]][objective]; };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return points[a][objective] < points[b][objective];
    });
    distances[order.front()] = std::numeric_limits<double>::infinity();
    distances[order.back()] = std::numeric_limits<double>::infinity();
    const double range = loss(order.size() - 1) - loss(0);
    // Where all are alike, or one is infinite, the objective tells nobody apart.
    if (!(range > 0) || !std::isfinite(range)) continue;
    for (size_t rank = 1; rank + 1 < order.size(); ++rank) {
      distances[order[rank]] += (loss(rank + 1) - loss(rank - 1)) / range;
    }
  }
  return distances;
}

double Hypervolume(LossPoints points, const LossPoint& reference) {
  if (points.empty()) return 0;
  TUNE_CHECK(!reference.empty() && points[0].size() == reference.size());
  const std::vector<LossPoint> front = WithoutDominated(points);
  if (reference.size() == 1) return VolumeBelow(front[0], reference);
  if (reference.size() == 2) return AreaOfFront(front, reference);
  double volume = 0;
  for (size_t i = 0; i < front.size(); ++i) {
    volume += ExclusiveVolume(front[i], LossPoints(front).subspan(i + 1), reference);
  }
  return volume;
}

LossPoint BeyondTheWorst(LossPoints points, double least) {
  constexpr double kBeyond = 0.1;
  TUNE_CHECK(!points.empty());
  LossPoint reference = points[0];
  for (size_t k = 0; k < reference.size(); ++k) {
    const auto [best, worst] =
        std::minmax_element(points.begin(), points.end(),
                            [k](const LossPoint& a, const LossPoint& b) { return a[k] < b[k]; });
    reference[k] = (*worst)[k] + std::max(kBeyond * ((*worst)[k] - (*best)[k]), least);
  }
  return reference;
}

std::vector<double> HypervolumeContributions(LossPoints points, const LossPoint& reference) {
  std::vector<double> contributions;
  std::vector<LossPoint> others;
  for (size_t i = 0; i < points.size(); ++i) {
    others.assign(points.begin(), points.end());
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    contributions.push_back(ExclusiveVolume(points[i], others, reference));
  }
  return contributions;
}

std::vector<size_t> ChooseByHypervolume(LossPoints points, const LossPoint& reference,
                                        size_t count) {
  TUNE_CHECK(count <= points.size());
  // What a point adds never grows as others are chosen: an old number is a bound for the new one,
  // and a point whose bound is below the best new number need not be looked at again.
  std::vector<double> bounds;
  for (const LossPoint& point : points) bounds.push_back(VolumeBelow(point, reference));
  std::vector<bool> is_chosen(points.size(), false);
  std::vector<size_t> chosen;
  std::vector<LossPoint> covered;
  while (chosen.size() < count) {
    size_t best = points.size();
    for (size_t i = 0; i < points.size(); ++i) {
      if (is_chosen[i]) continue;
      if (best < points.size() && bounds[i] <= bounds[best]) continue;
      bounds[i] = std::min(bounds[i], ExclusiveVolume(points[i], covered, reference));
      if (best == points.size() || bounds[i] > bounds[best]) best = i;
    }
    is_chosen[best] = true;
    chosen.push_back(best);
    covered.push_back(points[best]);
  }
  return chosen;
}

}  // namespace tune
