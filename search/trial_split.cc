#include "search/trial_split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "search/pareto.h"

namespace tune {
namespace {

struct Ranked {
  size_t trial = 0;
  int64_t behind = 0;  // Iterations that are missing.
  double loss = 0;

  friend bool operator<(const Ranked& a, const Ranked& b) {
    return std::tie(a.behind, a.loss, a.trial) < std::tie(b.behind, b.loss, b.trial);
  }
};

size_t GoodCount(const SplitRule& rule, size_t ranked_count) {
  const double share = std::ceil(rule.gamma * static_cast<double>(ranked_count));
  return std::min({ranked_count, rule.good_max, static_cast<size_t>(share)});
}

// All but `good` are bad.
TrialSplit SplitOff(const std::vector<ObservedTrial>& trials, const SplitRule& rule,
                    std::vector<size_t> good, std::vector<double> weights, size_t ranked_count) {
  TrialSplit split;
  split.bad_weights.assign(trials.size(), 1.0);
  for (size_t i = 0; i < trials.size(); ++i) {
    const bool is_running = trials[i].state == ObservedTrial::State::kRunning;
    if (is_running && trials[i].losses.empty()) split.bad_weights[i] = rule.running_weight;
  }
  for (const size_t trial : good) split.bad_weights[trial] = 0;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight *= static_cast<double>(good.size()) / sum;
  split.good = std::move(good);
  split.good_weights = std::move(weights);
  split.ranked_count = ranked_count;
  return split;
}

TrialSplit SplitInOrder(const std::vector<ObservedTrial>& trials, const SplitRule& rule,
                        std::vector<Ranked> ranked, size_t good_count) {
  const auto end = ranked.begin() + static_cast<ptrdiff_t>(good_count);
  if (end != ranked.end()) std::nth_element(ranked.begin(), end, ranked.end());
  std::sort(ranked.begin(), end);
  std::vector<size_t> good;
  std::vector<double> weights;
  for (size_t i = 0; i < good_count; ++i) {
    good.push_back(ranked[i].trial);
    weights.push_back(std::log(static_cast<double>(good_count + 1)) -
                      std::log(static_cast<double>(i + 1)));
  }
  return SplitOff(trials, rule, std::move(good), std::move(weights), ranked.size());
}

// Each objective from 0, the best here, to 1, the worst: volumes keep their proportions, and those
// of losses that have diverged do not overflow.
std::vector<LossPoint> Scaled(LossPoints points) {
  LossPoint worst = points[0];
  LossPoint best = points[0];
  for (const LossPoint& point : points) {
    for (size_t i = 0; i < point.size(); ++i) {
      worst[i] = std::max(worst[i], point[i]);
      best[i] = std::min(best[i], point[i]);
    }
  }
  std::vector<LossPoint> scaled(points.begin(), points.end());
  for (LossPoint& point : scaled) {
    for (size_t i = 0; i < point.size(); ++i) {
      // Halves, as the range may be more than a double holds.
      const double range = worst[i] / 2 - best[i] / 2;
      point[i] = range > 0 ? (point[i] / 2 - best[i] / 2) / range : 0.0;
    }
  }
  return scaled;
}

// Beyond the worst of scaled points by a tenth, so that the ends count too.
LossPoint ReferenceOf(LossPoints scaled) { return LossPoint(scaled[0].size(), 1.1); }

}  // namespace

TrialSplit SplitByLoss(const std::vector<ObservedTrial>& trials, const SplitRule& rule,
                       std::optional<int64_t> max_t) {
  std::vector<Ranked> ranked;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].losses.empty()) continue;
    const bool is_behind = max_t && !trials[i].is_whole;
    const int64_t behind = is_behind ? std::max<int64_t>(0, *max_t - trials[i].iterations()) : 0;
    ranked.push_back({i, behind, trials[i].ranked_loss()});
  }
  const size_t good_count = GoodCount(rule, ranked.size());
  return SplitInOrder(trials, rule, std::move(ranked), good_count);
}

std::optional<TrialSplit> SplitAtHighestLevel(const std::vector<ObservedTrial>& trials,
                                              const SplitRule& rule, size_t good_min) {
  // Whole trials, and those of which only their results were told, stand beside those that came
  // furthest.
  int64_t whole = 0;
  for (const ObservedTrial& trial : trials) whole = std::max(whole, trial.iterations());
  std::map<int64_t, std::vector<Ranked>> levels;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].state == ObservedTrial::State::kFailed) continue;
    const bool is_beside =
        trials[i].reports.empty() || (trials[i].is_whole && trials[i].iterations() < whole);
    if (is_beside && !trials[i].losses.empty()) {
      levels[whole].push_back({i, 0, trials[i].ranked_loss()});
    }
    for (const auto& [iteration, losses, violation] : trials[i].reports) {
      if (std::isnan(losses[0])) continue;
      levels[iteration].push_back({i, 0, RankedLoss(losses[0], violation)});
    }
  }
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    std::vector<Ranked>& ranked = level->second;
    if (ranked.size() < 2 * good_min) continue;
    const size_t good_count = std::max(good_min, GoodCount(rule, ranked.size()));
    return SplitInOrder(trials, rule, std::move(ranked), good_count);
  }
  return std::nullopt;
}

TrialSplit SplitByFronts(const std::vector<ObservedTrial>& trials, const SplitRule& rule) {
  std::vector<size_t> places;
  std::vector<LossPoint> points;
  std::vector<double> violations;
  for (size_t i = 0; i < trials.size(); ++i) {
    const Losses& losses = trials[i].losses;
    if (losses.empty()) continue;
    if (!std::all_of(losses.begin(), losses.end(), [](double x) { return std::isfinite(x); })) {
      continue;
    }
    places.push_back(i);
    points.push_back(losses);
    violations.push_back(trials[i].violation);
  }
  const size_t good_count = GoodCount(rule, points.size());
  const std::vector<size_t> ranks = ConstrainedRanks(points, violations);
  std::vector<size_t> chosen;  // Places among the points.
  for (size_t front = 0; chosen.size() < good_count; ++front) {
    std::vector<size_t> members;
    std::vector<LossPoint> losses;
    for (size_t i = 0; i < points.size(); ++i) {
      if (ranks[i] != front) continue;
      members.push_back(i);
      losses.push_back(points[i]);
    }
    const size_t room = good_count - chosen.size();
    if (members.size() <= room) {
      chosen.insert(chosen.end(), members.begin(), members.end());
      continue;
    }
    const std::vector<LossPoint> scaled = Scaled(losses);
    for (const size_t i : ChooseByHypervolume(scaled, ReferenceOf(scaled), room)) {
      chosen.push_back(members[i]);
    }
  }
  std::vector<size_t> good;
  std::vector<LossPoint> losses;
  for (const size_t i : chosen) {
    good.push_back(places[i]);
    losses.push_back(points[i]);
  }
  std::vector<double> weights;
  if (!losses.empty()) {
    const std::vector<LossPoint> scaled = Scaled(losses);
    weights = HypervolumeContributions(scaled, ReferenceOf(scaled));
  }
  // What others cover wholly still counts a little.
  const double largest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
  for (double& weight : weights) weight = largest > 0 ? std::max(weight / largest, 0.01) : 1;
  return SplitOff(trials, rule, std::move(good), std::move(weights), points.size());
}

}  // namespace tune
