#include "search/gp/hypervolume_improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/check.h"
#include "search/gp/expected_improvement.h"

namespace tune {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Of the first `dims` objectives alone.
std::vector<OpenBox> BoxesOf(const std::vector<const LossPoint*>& points,
                             const LossPoint& reference, size_t dims) {
  const size_t last = dims - 1;
  if (dims == 1) {
    double lowest = reference[0];
    for (const LossPoint* const point : points) lowest = std::min(lowest, (*point)[0]);
    return {{{-kInfinity}, {lowest}}};
  }
  std::vector<double> cuts = {-kInfinity, reference[last]};
  for (const LossPoint* const point : points) cuts.push_back((*point)[last]);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<OpenBox> done;
  std::vector<OpenBox> open;  // Those that end at the present cut.
  for (size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
    std::vector<const LossPoint*> below;
    for (const LossPoint* const point : points) {
      if ((*point)[last] <= cuts[cut]) below.push_back(point);
    }
    std::vector<OpenBox> next;
    for (OpenBox& box : BoxesOf(below, reference, last)) {
      const auto same = std::find_if(open.begin(), open.end(), [&](const OpenBox& before) {
        return std::equal(box.lower.begin(), box.lower.end(), before.lower.begin()) &&
               std::equal(box.upper.begin(), box.upper.end(), before.upper.begin());
      });
      box.lower.push_back(same == open.end() ? cuts[cut] : same->lower[last]);
      box.upper.push_back(cuts[cut + 1]);
      next.push_back(std::move(box));
      if (same != open.end()) open.erase(same);
    }
    done.insert(done.end(), open.begin(), open.end());
    open = std::move(next);
  }
  done.insert(done.end(), open.begin(), open.end());
  return done;
}

struct LogShare {
  double value = -kInfinity;  // log(E max(u - Y, 0) - E max(l - Y, 0))
  double by_mean = 0;
  double by_deviation = 0;
};

LogShare Difference(const LogImprovement& upper, const LogImprovement* lower) {
  if (lower == nullptr) return {upper.value, upper.by_mean, upper.by_deviation};
  const double ratio = std::exp(lower->value - upper.value);
  if (!(ratio < 1)) return {};
  return {upper.value + std::log1p(-ratio), (upper.by_mean - ratio * lower->by_mean) / (1 - ratio),
          (upper.by_deviation - ratio * lower->by_deviation) / (1 - ratio)};
}

}  // namespace

std::vector<OpenBox> NonDominatedBoxes(LossPoints points, const LossPoint& reference) {
  std::vector<const LossPoint*> below;
  for (const LossPoint& point : points) {
    TUNE_CHECK(point.size() == reference.size());
    bool is_below = true;
    for (size_t k = 0; k < point.size(); ++k) is_below = is_below && point[k] < reference[k];
    if (is_below) below.push_back(&point);
  }
  return BoxesOf(below, reference, reference.size());
}

HypervolumeImprovement::HypervolumeImprovement(LossPoints front, const LossPoint& reference)
    : objectives_(reference.size()) {
  const std::vector<OpenBox> boxes = NonDominatedBoxes(front, reference);
  boxes_.resize(boxes.size(), std::vector<int32_t>(reference.size()));
  for (size_t k = 0; k < reference.size(); ++k) {
    std::vector<double>& edges = objectives_[k].edges;
    for (const OpenBox& box : boxes) {
      edges.push_back(box.upper[k]);
      if (box.lower[k] > -kInfinity) edges.push_back(box.lower[k]);
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    const auto place_of = [&](double edge) {
      if (edge == -kInfinity) return -1;
      return static_cast<int32_t>(std::lower_bound(edges.begin(), edges.end(), edge) -
                                  edges.begin());
    };
    std::map<std::pair<int32_t, int32_t>, int32_t> known;
    for (size_t i = 0; i < boxes.size(); ++i) {
      const Side side = {place_of(boxes[i].lower[k]), place_of(boxes[i].upper[k])};
      const auto next = static_cast<int32_t>(objectives_[k].sides.size());
      const auto [found, is_new] = known.emplace(std::pair(side.lower, side.upper), next);
      if (is_new) objectives_[k].sides.push_back(side);
      boxes_[i][k] = found->second;
    }
  }
}

double HypervolumeImprovement::Log(const VectorXd& means, const VectorXd& deviations) const {
  VectorXd by_means;
  VectorXd by_deviations;
  return LogWithSlopes(means, deviations, by_means, by_deviations);
}

double HypervolumeImprovement::LogWithSlopes(const VectorXd& means, const VectorXd& deviations,
                                             VectorXd& by_means, VectorXd& by_deviations) const {
  std::vector<std::vector<LogShare>> shares(objectives_.size());
  for (size_t k = 0; k < objectives_.size(); ++k) {
    const auto& [edges, sides] = objectives_[k];
    const auto at = static_cast<Index>(k);
    const auto improvements = LogExpectedImprovements(means[at], deviations[at], edges);
    for (const auto& [lower, upper] : sides) {
      shares[k].push_back(
          Difference(improvements[static_cast<size_t>(upper)],
                     lower < 0 ? nullptr : &improvements[static_cast<size_t>(lower)]));
    }
  }
  std::vector<double> logs(boxes_.size(), 0.0);
  for (size_t i = 0; i < boxes_.size(); ++i) {
    for (size_t k = 0; k < shares.size(); ++k) {
      logs[i] += shares[k][static_cast<size_t>(boxes_[i][k])].value;
    }
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  by_means = VectorXd::Zero(means.size());
  by_deviations = VectorXd::Zero(means.size());
  if (!(largest > -kInfinity)) return std::numeric_limits<double>::lowest();
  double sum = 0;
  for (size_t i = 0; i < boxes_.size(); ++i) {
    const double weight = std::exp(logs[i] - largest);
    if (weight == 0) continue;
    sum += weight;
    for (size_t k = 0; k < shares.size(); ++k) {
      const LogShare& share = shares[k][static_cast<size_t>(boxes_[i][k])];
      by_means[static_cast<Index>(k)] += weight * share.by_mean;
      by_deviations[static_cast<Index>(k)] += weight * share.by_deviation;
    }
  }
  by_means /= sum;
  by_deviations /= sum;
  return largest + std::log(sum);
}

}  // namespace tune
