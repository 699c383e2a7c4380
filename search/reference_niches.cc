#include "search/reference_niches.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace tune {
namespace {

constexpr double kFar = 1e6;  // In scaled objectives.

// How many multiples of 1 / parts sum to 1; more than `most` counts as most + 1.
size_t CountOf(size_t objectives, size_t parts, size_t most) {
  double count = 1;  // (parts + objectives - 1) over (objectives - 1).
  for (size_t i = 1; i < objectives; ++i) {
    count *= static_cast<double>(parts + i) / static_cast<double>(i);
    if (count > static_cast<double>(most)) return most + 1;
  }
  return static_cast<size_t>(std::llround(count));
}

void Append(size_t left, size_t parts, LossPoint& begun, size_t objectives,
            std::vector<LossPoint>& directions) {
  const auto share = [parts](size_t of) {
    return static_cast<double>(of) / static_cast<double>(parts);
  };
  if (begun.size() + 1 == objectives) {
    directions.push_back(begun);
    directions.back().push_back(share(left));
    return;
  }
  for (size_t i = 0; i <= left; ++i) {
    begun.push_back(share(i));
    Append(left - i, parts, begun, objectives, directions);
    begun.pop_back();
  }
}

bool IsFinite(const LossPoint& point) {
  return std::all_of(point.begin(), point.end(), [](double x) { return std::isfinite(x); });
}

// Where each objective begins and how long its unit is.
struct Scale {
  LossPoint ideal;
  LossPoint length;
};

// The intercepts of the plane through the points that are extreme along each axis; empty where
// there is none, or one lies at or before the ideal.
LossPoint Intercepts(const std::vector<LossPoint>& front, const LossPoint& ideal) {
  constexpr double kOffAxis = 1e-6;
  const size_t count = ideal.size();
  Eigen::MatrixXd extremes(static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(count));
  for (size_t axis = 0; axis < count; ++axis) {
    const LossPoint* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const LossPoint& point : front) {
      double achieved = 0;
      for (size_t k = 0; k < count; ++k) {
        achieved = std::max(achieved, (point[k] - ideal[k]) / (k == axis ? 1 : kOffAxis));
      }
      if (achieved < least) least = achieved, best = &point;
    }
    if (best == nullptr) return {};
    for (size_t k = 0; k < count; ++k) {
      extremes(static_cast<Eigen::Index>(axis), static_cast<Eigen::Index>(k)) =
          (*best)[k] - ideal[k];
    }
  }
  const Eigen::FullPivLU<Eigen::MatrixXd> solver(extremes);
  if (!solver.isInvertible()) return {};
  const Eigen::VectorXd plane =
      solver.solve(Eigen::VectorXd::Ones(static_cast<Eigen::Index>(count)));
  LossPoint intercepts;
  for (size_t k = 0; k < count; ++k) {
    const double intercept = 1 / plane[static_cast<Eigen::Index>(k)];
    if (!(intercept > 1e-12) || !std::isfinite(intercept)) return {};
    intercepts.push_back(intercept);
  }
  return intercepts;
}

Scale ScaleOf(LossPoints points, std::span<const size_t> ranks) {
  std::vector<LossPoint> front;
  for (size_t i = 0; i < points.size(); ++i) {
    if (ranks[i] == 0 && IsFinite(points[i])) front.push_back(points[i]);
  }
  Scale scale;
  if (front.empty()) return scale;
  scale.ideal = front[0];
  LossPoint worst = front[0];
  for (const LossPoint& point : front) {
    for (size_t k = 0; k < point.size(); ++k) {
      scale.ideal[k] = std::min(scale.ideal[k], point[k]);
      worst[k] = std::max(worst[k], point[k]);
    }
  }
  scale.length = Intercepts(front, scale.ideal);
  if (!scale.length.empty()) return scale;
  for (size_t k = 0; k < worst.size(); ++k) {
    const double range = worst[k] - scale.ideal[k];
    scale.length.push_back(range > 0 && std::isfinite(range) ? range : 1);
  }
  return scale;
}

}  // namespace

std::vector<LossPoint> SimplexDirections(size_t objectives, size_t count_max) {
  TUNE_CHECK(objectives >= 2);
  size_t parts = 1;
  while (CountOf(objectives, parts + 1, count_max) <= count_max) ++parts;
  std::vector<LossPoint> directions;
  LossPoint begun;
  Append(parts, parts, begun, objectives, directions);
  return directions;
}

std::vector<Niche> NichesOf(LossPoints points, std::span<const size_t> ranks,
                            const std::vector<LossPoint>& directions) {
  TUNE_CHECK(points.size() == ranks.size() && !directions.empty());
  const Scale scale = ScaleOf(points, ranks);
  std::vector<Niche> niches;
  for (const LossPoint& point : points) {
    LossPoint scaled = point;
    for (size_t k = 0; k < scaled.size(); ++k) {
      const double at = scale.ideal.empty() ? kFar : (point[k] - scale.ideal[k]) / scale.length[k];
      scaled[k] = std::isnan(at) ? kFar : std::clamp(at, -kFar, kFar);
    }
    Niche nearest = {0, std::numeric_limits<double>::infinity()};
    for (size_t d = 0; d < directions.size(); ++d) {
      double along = 0;
      double squares = 0;
      for (size_t k = 0; k < scaled.size(); ++k) {
        along += scaled[k] * directions[d][k];
        squares += directions[d][k] * directions[d][k];
      }
      along /= squares;
      double distance = 0;
      for (size_t k = 0; k < scaled.size(); ++k) {
        const double off = scaled[k] - along * directions[d][k];
        distance += off * off;
      }
      if (distance < nearest.distance) nearest = {d, distance};
    }
    nearest.distance = std::sqrt(nearest.distance);
    niches.push_back(nearest);
  }
  return niches;
}

}  // namespace tune
