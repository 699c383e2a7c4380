#include "search/gp/prior.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "search/gp/gp_model.h"
#include "search/gp/level_table.h"

namespace tune {
namespace {

using Eigen::Index;

constexpr size_t kFavouritesMax = 16;
constexpr size_t kGoodMin = 5;  // As many as the first trials of a sweep have room for.

double SquaredGap(const CategoryFlags& is_category, const Eigen::VectorXd& a,
                  const Eigen::VectorXd& b) {
  double sum = 0;
  for (Index d = 0; d < a.size(); ++d) {
    const double gap = a[d] - b[d];
    sum += is_category[static_cast<size_t>(d)] ? static_cast<double>(gap != 0) : gap * gap;
  }
  return sum;
}

}  // namespace

Prior::Prior(const SearchProblem& problem, const AcquisitionSearch& acquisition)
    : acquisition_(acquisition), observations_(problem) {
  TUNE_CHECK(!problem.prior.empty());
  TellEarlier(problem.prior, problem.modes.size(), observations_);
  const std::vector<ObservedTrial>& trials = observations_.trials();
  points_.resize(static_cast<Index>(trials.size()),
                 static_cast<Index>(observations_.space().size()));
  for (size_t i = 0; i < trials.size(); ++i) {
    points_.row(static_cast<Index>(i)) = acquisition_.PointOf(trials[i].cells);
  }
  ChooseFavourites();
}

void Prior::ChooseFavourites() {
  const std::vector<ObservedTrial>& trials = observations_.trials();
  std::vector<size_t> good;
  for (size_t i = 0; i < trials.size(); ++i) {
    const bool has_loss = !trials[i].losses.empty() && std::isfinite(trials[i].losses[0]);
    if (has_loss && MayBeTried(trials[i].cells)) good.push_back(i);
  }
  std::stable_sort(good.begin(), good.end(), [&](size_t a, size_t b) {
    return trials[a].ranked_loss() < trials[b].ranked_loss();
  });
  good.resize(std::min(good.size(), std::max(kGoodMin, (good.size() + 3) / 4)));
  std::vector<double> gaps(good.size(), std::numeric_limits<double>::infinity());
  while (favourites_.size() < std::min(good.size(), kFavouritesMax)) {
    const auto furthest = std::max_element(gaps.begin(), gaps.end());
    if (*furthest == 0) return;  // The others are alike.
    favourites_.push_back(good[static_cast<size_t>(furthest - gaps.begin())]);
    const Eigen::VectorXd chosen = points_.row(static_cast<Index>(favourites_.back()));
    for (size_t i = 0; i < good.size(); ++i) {
      const Eigen::VectorXd other = points_.row(static_cast<Index>(good[i]));
      gaps[i] = std::min(gaps[i], SquaredGap(acquisition_.is_category(), chosen, other));
    }
  }
}

// Whether the constraints allow it, with the middle of what it does not know.
bool Prior::MayBeTried(const UnitCells& cells) const {
  const UnitSpace& space = observations_.space();
  std::vector<double> point(space.size(), 0.5);
  for (size_t d = 0; d < point.size(); ++d) {
    if (cells[d]) point[d] = cells[d]->mid();
  }
  return space.space().Allows(space.At(point));
}

const UnitCells* Prior::Favourite(size_t order) const {
  if (order >= favourites_.size()) return nullptr;
  return &observations_.trials()[favourites_[order]].cells;
}

std::vector<bool> Prior::Unknown() const {
  std::vector<bool> unknown(observations_.space().size(), true);
  for (const ObservedTrial& trial : observations_.trials()) {
    for (size_t d = 0; d < unknown.size(); ++d) {
      if (trial.cells[d]) unknown[d] = false;
    }
  }
  return unknown;
}

std::shared_ptr<const Surrogate> Prior::surrogate() {
  if (surrogate_ == nullptr) {
    const LevelTable table = TableOf(observations_.trials(), {0});
    const GpModel model(acquisition_.is_category(), points_, table, {.is_unknown = Unknown()});
    surrogate_ = std::make_shared<const Surrogate>(model.Look(points_, table).surrogate);
  }
  return surrogate_;
}

}  // namespace tune
