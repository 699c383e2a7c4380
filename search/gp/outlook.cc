#include "search/gp/outlook.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "search/gp/hypervolume_improvement.h"

namespace tune {
namespace {

using Eigen::Index;

constexpr std::array<size_t, OutlookMaker::kObjectivesMax + 1> kFrontMax = {0, 1, 100, 100, 40};

// Those that cover most, where there are too many to be cut into boxes for each suggestion.
std::vector<LossPoint> Thinned(const std::vector<LossPoint>& points, const LossPoint& reference) {
  const size_t count_max = kFrontMax[reference.size()];
  if (points.size() <= count_max) return points;
  std::vector<LossPoint> kept;
  for (const size_t i : ChooseByHypervolume(points, reference, count_max)) {
    kept.push_back(points[i]);
  }
  return kept;
}

}  // namespace

std::vector<LevelTable> TablesOf(const TrialObservations& observations, size_t limit_count,
                                 const std::vector<int64_t>& levels) {
  std::vector<LevelTable> tables;
  for (size_t k = 0; k < observations.objective_count(); ++k) {
    tables.push_back(TableOf(observations.trials(), levels, k));
  }
  for (size_t k = 0; k < limit_count; ++k) {
    tables.push_back(MarginTableOf(observations.trials(), k));
  }
  return tables;
}

void OutlookMaker::Make(Outlook& outlook) const {
  if (objective_count() == 1 && limit_count_ > 0) {
    LookForFeasibleBest(outlook);
  } else if (objective_count() == 1) {
    LookForBest(outlook);
  } else {
    LookForFront(outlook);
  }
}

void OutlookMaker::LookForBest(Outlook& outlook) const {
  constexpr size_t kIncumbents = 4;
  GpModel::View view = models_[0].Look(points_, TablesOf(observations_, limit_count_, levels_)[0]);
  view.leading.resize(std::min(view.leading.size(), kIncumbents));
  outlook.incumbents = std::move(view.leading);
  outlook.pending = std::move(view.pending);
  outlook.surrogates.push_back(std::move(view.surrogate));
  const Surrogate& surrogate = outlook.surrogates[0];
  // A trial that is stopped early is seen through the noise of early levels, and there are many:
  // else they come to the same place again and again.
  const double noise = surrogate.level_count() > 1 ? surrogate.noise() : 0;
  outlook.acquisition = std::make_unique<LossImprovement>(surrogate, view.best, noise);
}

void OutlookMaker::LookForFeasible(Outlook& outlook) const {
  for (size_t k = 0; k < limit_count_; ++k) {
    const LevelTable table = MarginTableOf(observations_.trials(), k);
    outlook.limits.push_back(models_[objective_count() + k].Look(points_, table).surrogate);
  }
}

std::vector<size_t> OutlookMaker::FeasibleOf(std::vector<size_t> trials,
                                             const Outlook& outlook) const {
  const auto keeps = [&](size_t i) {
    const ObservedTrial& trial = observations_.trials()[i];
    if (trial.state == ObservedTrial::State::kEnded) {
      return !trial.losses.empty() && trial.is_feasible();
    }
    const Points at = points_.row(static_cast<Index>(i));
    for (size_t k = 0; k < limit_count_; ++k) {
      if (outlook.limits[k].Means(at)[0] > BoundOf(k)) return false;
    }
    return trial.state == ObservedTrial::State::kRunning;
  };
  std::erase_if(trials, [&](size_t i) { return !keeps(i); });
  return trials;
}

// Where nothing is feasible yet, to look around.
std::vector<size_t> OutlookMaker::LeastViolating(size_t count) const {
  std::vector<size_t> trials;
  const auto& all = observations_.trials();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].state == ObservedTrial::State::kEnded && !all[i].losses.empty()) trials.push_back(i);
  }
  std::stable_sort(trials.begin(), trials.end(),
                   [&](size_t a, size_t b) { return all[a].violation < all[b].violation; });
  trials.resize(std::min(trials.size(), count));
  return trials;
}

// Takes the others out of both; how many of those that have ended stay.
size_t OutlookMaker::KeepFeasible(const Outlook& outlook, size_t ended, std::vector<size_t>& trials,
                                  std::vector<LossPoint>& seen) const {
  const std::vector<size_t> kept = FeasibleOf(trials, outlook);
  size_t next = 0;
  size_t still = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (next == kept.size() || trials[i] != kept[next]) continue;
    still += i < ended ? 1 : 0;
    if (next != i) seen[next] = std::move(seen[i]);
    ++next;
  }
  seen.resize(next);
  trials = kept;
  return still;
}

// What promises much is worth as much as it is likely to keep the limits.
void OutlookMaker::KeepLimits(Outlook& outlook) const {
  std::vector<double> bounds;
  for (size_t k = 0; k < limit_count_; ++k) bounds.push_back(BoundOf(k));
  outlook.acquisition = std::make_unique<FeasibleAcquisition>(std::move(outlook.acquisition),
                                                              outlook.limits, std::move(bounds));
}

// Improved on is the best of those that keep the limits; while none does, one is looked for.
void OutlookMaker::LookForFeasibleBest(Outlook& outlook) const {
  constexpr size_t kIncumbents = 4;
  LookForFeasible(outlook);
  GpModel::View view = models_[0].Look(points_, TablesOf(observations_, limit_count_, levels_)[0]);
  outlook.surrogates.push_back(std::move(view.surrogate));
  const Surrogate& surrogate = outlook.surrogates[0];
  outlook.pending = view.pending;
  outlook.incumbents = FeasibleOf(std::move(view.leading), outlook);
  if (outlook.incumbents.empty()) {
    outlook.incumbents = LeastViolating(kIncumbents);
  } else {
    std::vector<size_t> promised = FeasibleOf(std::move(view.pending), outlook);
    promised.push_back(outlook.incumbents[0]);
    const double best = surrogate.Means(points_(promised, Eigen::all)).minCoeff();
    outlook.incumbents.resize(std::min(outlook.incumbents.size(), kIncumbents));
    outlook.acquisition = std::make_unique<LossImprovement>(surrogate, best, 0);
  }
  KeepLimits(outlook);
}

// Running trials are part of the front that is to be improved on, by what they promise: else it
// would be promised again to the next one, at the same place.
void OutlookMaker::LookForFront(Outlook& outlook) const {
  constexpr size_t kIncumbents = 8;
  const std::vector<LevelTable> tables = TablesOf(observations_, limit_count_, levels_);
  LookForFeasible(outlook);
  for (size_t k = 0; k < objective_count(); ++k) {
    GpModel::View view = models_[k].Look(points_, tables[k]);
    outlook.surrogates.push_back(std::move(view.surrogate));
    outlook.pending = std::move(view.pending);
  }
  std::vector<size_t> known;
  const auto& trials = observations_.trials();
  for (size_t i = 0; i < trials.size(); ++i) {
    const Losses& losses = trials[i].losses;
    if (trials[i].state != ObservedTrial::State::kEnded || losses.empty()) continue;
    if (std::all_of(losses.begin(), losses.end(), [](double x) { return std::isfinite(x); })) {
      known.push_back(i);
    }
  }
  size_t ended = known.size();
  known.insert(known.end(), outlook.pending.begin(), outlook.pending.end());
  std::vector<LossPoint> seen(known.size(), LossPoint(objective_count()));
  for (size_t k = 0; k < objective_count(); ++k) {
    const Eigen::ArrayXd means = outlook.surrogates[k].Means(points_(known, Eigen::all));
    for (size_t i = 0; i < known.size(); ++i) seen[i][k] = means[static_cast<Index>(i)];
  }
  // Infeasible ones, too, show how bad losses can be; of a front they are no part.
  const LossPoint reference = ReferenceOf(LossPoints(seen).first(ended));
  if (limit_count_ > 0) ended = KeepFeasible(outlook, ended, known, seen);
  outlook.acquisition = std::make_unique<FrontImprovement>(
      outlook.surrogates, HypervolumeImprovement(Thinned(seen, reference), reference));
  if (limit_count_ > 0) {
    if (ended == 0) outlook.acquisition.reset();
    if (ended == 0) outlook.incumbents = LeastViolating(kIncumbents);
    KeepLimits(outlook);
  }
  seen.resize(ended);
  for (const size_t i : ChooseByHypervolume(seen, reference, std::min(ended, kIncumbents))) {
    outlook.incumbents.push_back(known[i]);
  }
}

LossPoint OutlookMaker::ReferenceOf(LossPoints seen) const {
  constexpr double kLeastBeyond = 1e-3;  // Losses are standardised here.
  LossPoint reference(objective_count(), 1);
  if (reference_.empty()) {
    return seen.empty() ? reference : BeyondTheWorst(seen, kLeastBeyond);
  }
  for (size_t k = 0; k < reference.size(); ++k) {
    reference[k] = rules_ >= SearchRules::kFrom16 ? models_[k].SeenUncut(reference_[k])
                                                  : models_[k].Seen(reference_[k]);
  }
  return reference;
}

}  // namespace tune
