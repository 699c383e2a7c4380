#include "search/tpe_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.h"

namespace tune {
namespace {

// Measured on bench/search_quality: the good density a little narrower than its points are spread,
// the bad one narrower still, so that it keeps away from what was tried and not from whole regions.
constexpr double kGoodWidth = 0.65;
constexpr double kBadWidth = 0.4;

bool HaveSameConditions(const SpaceParameter& a, const SpaceParameter& b) {
  return std::equal(a.conditions.begin(), a.conditions.end(), b.conditions.begin(),
                    b.conditions.end(), [](const Condition& x, const Condition& y) {
                      return x.parent == y.parent && x.values == y.values;
                    });
}

// Which dimensions are modelled together.
std::vector<std::vector<size_t>> Grouped(const UnitSpace& space, const TpeModelOptions& options) {
  std::vector<std::vector<size_t>> groups;
  for (size_t d = 0; d < space.size(); ++d) {
    const auto fitting = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      if (!options.multivariate) return false;
      return !options.group ||
             HaveSameConditions(space.parameter(group.front()), space.parameter(d));
    });
    if (fitting == groups.end()) {
      groups.push_back({d});
    } else {
      fitting->push_back(d);
    }
  }
  return groups;
}

std::vector<size_t> LookedAt(const UnitSpace& space) {
  const auto is_looked_at = [&](const SpaceParameter& by, size_t dimension) {
    return std::any_of(by.conditions.begin(), by.conditions.end(), [&](const Condition& condition) {
      return &space.space().parameters()[condition.parent] == &space.parameter(dimension);
    });
  };
  std::vector<size_t> dimensions;
  for (size_t d = 0; d < space.size(); ++d) {
    const auto& parameters = space.space().parameters();
    if (std::any_of(parameters.begin(), parameters.end(),
                    [&](const SpaceParameter& by) { return is_looked_at(by, d); })) {
      dimensions.push_back(d);
    }
  }
  return dimensions;
}

}  // namespace

TpeModel::TpeModel(UnitSpace space, const TpeModelOptions& options)
    : axes_(std::move(space)), options_(options), looked_at_(LookedAt(axes_.space())) {
  for (auto& dimensions : Grouped(axes_.space(), options)) {
    const ParzenEstimator empty(axes_, dimensions, options.prior_weight);
    groups_.push_back({std::move(dimensions), empty, empty});
  }
}

void TpeModel::Learn(const std::vector<ObservedTrial>& trials) {
  while (places_.size() < trials.size()) {
    places_.push_back(axes_.PointOf(trials[places_.size()].cells));
    for (Group& group : groups_) group.bad.Add(places_.back(), 0);
  }
}

std::vector<std::vector<double>> TpeModel::Propose(const TrialSplit& split, KeyedRandom random) {
  TUNE_CHECK(split.bad_weights.size() == places_.size());
  const auto count = static_cast<size_t>(options_.n_ei_candidates);
  std::vector<std::vector<double>> points(count, std::vector<double>(axes_.size()));
  for (Group& group : groups_) {
    const std::vector<ParzenPoint> candidates = Candidates(group, split, random);
    for (size_t i = 0; i < count; ++i) {
      for (const size_t d : group.dimensions) points[i][d] = candidates[i][d].x;
    }
  }
  return points;
}

void TpeModel::FixBranch(ParzenEstimator& good, KeyedRandom& random) const {
  ParzenPoint branch(axes_.size());
  good.Draw(random, branch);
  axes_.DropInactive(branch);
  for (const size_t d : looked_at_) {
    if (!branch[d].is_missing()) good.Fix(d, branch[d]);
  }
}

std::vector<ParzenPoint> TpeModel::Candidates(Group& group, const TrialSplit& split,
                                              KeyedRandom& random) {
  ParzenEstimator& good = group.good;
  good.Clear();
  for (size_t i = 0; i < split.good.size(); ++i) {
    good.Add(places_[split.good[i]], split.good_weights[i]);
  }
  good.FitWidths(kGoodWidth);
  for (size_t i = 0; i < places_.size(); ++i) group.bad.SetWeight(i, split.bad_weights[i]);
  group.bad.FitWidths(kBadWidth);

  // Which parameters exist is known where one group has them all.
  const bool is_conditional = groups_.size() == 1 && axes_.space().space().has_conditions();
  if (is_conditional) FixBranch(good, random);
  std::vector<ParzenPoint> drawn(static_cast<size_t>(options_.n_ei_candidates));
  for (ParzenPoint& point : drawn) {
    point.resize(axes_.size());
    good.Draw(random, point);
  }
  std::vector<ParzenPoint> existing;
  if (is_conditional) {
    existing = drawn;
    for (ParzenPoint& point : existing) axes_.DropInactive(point);
  }
  const std::vector<ParzenPoint>& looked_at = is_conditional ? existing : drawn;
  std::vector<double> scores = good.LogDensities(looked_at);
  const std::vector<double> bad = group.bad.LogDensities(looked_at);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] -= bad[i];
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<ParzenPoint> sorted;
  for (const size_t i : order) sorted.push_back(std::move(drawn[i]));
  return sorted;
}

}  // namespace tune
