// The minimum of a smooth function in a box: BFGS on the coordinates that are free, steps projected
// onto the box and shortened until they descend enough (Bertsekas, "Projected Newton Methods for
// Optimization Problems with Simple Constraints", SIAM J. Control and Optimization 20(2), 1982;
// BFGS and the backtracking rule: Nocedal and Wright, "Numerical Optimization", 2006, 6.1 and 3.1).
// For some dozens of dimensions: it keeps a dense matrix.
//
// Thread rule: pure functions.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace tune {

struct QuasiNewtonOptions {
  int iterations_max = 50;
  double first_step = 0.1;           // Length of the first step, in units of x.
  double gradient_tolerance = 1e-5;  // Ends when no free coordinate's slope is above it,
  double decrease_tolerance = 1e-8;  // or a step gains less than this.
};

// Lowers `function` from `x`, which lies in the box, and returns its value there. A coordinate with
// lower == upper stays. `function`: double(const Eigen::VectorXd& x, Eigen::VectorXd& gradient);
// where its value is not finite no step ends.
template <typename Function>
double MinimizeInBox(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                     const QuasiNewtonOptions& options, Function&& function, Eigen::VectorXd& x) {
  using Eigen::VectorXd;
  constexpr double kSufficient = 1e-4;  // Of the decrease that the slope promises.
  constexpr int kShorterMax = 12;
  const Eigen::Index size = x.size();
  VectorXd gradient(size), next_gradient(size), next(size);
  double value = function(x, gradient);
  Eigen::MatrixXd inverse;  // Of the Hessian; empty: no curvature is known yet.
  for (int iteration = 0; iteration < options.iterations_max; ++iteration) {
    VectorXd free_slope = gradient;
    for (Eigen::Index i = 0; i < size; ++i) {
      const bool is_held =
          (x[i] <= lower[i] && gradient[i] >= 0) || (x[i] >= upper[i] && gradient[i] <= 0);
      if (is_held) free_slope[i] = 0;
    }
    const double steepest = free_slope.size() == 0 ? 0 : free_slope.cwiseAbs().maxCoeff();
    if (!(steepest > options.gradient_tolerance)) break;
    VectorXd direction = -free_slope;
    if (inverse.size() > 0) {
      direction = -(inverse * free_slope);
      direction = (free_slope.array() == 0).select(0, direction);
    }
    if (inverse.size() == 0) direction *= options.first_step / free_slope.norm();

    double step = 1;
    double next_value = value;
    bool is_lower = false;
    for (int shorter = 0; shorter < kShorterMax && !is_lower; ++shorter) {
      next = (x + step * direction).cwiseMax(lower).cwiseMin(upper);
      next_value = function(next, next_gradient);
      const double promised = gradient.dot(next - x);
      is_lower = std::isfinite(next_value) && next_value <= value + kSufficient * promised;
      if (is_lower) break;
      // Where the parabola through what is known has its bottom.
      const double bottom = -promised / (2 * (next_value - value - promised));
      step *= std::isfinite(bottom) ? std::clamp(bottom, 0.1, 0.5) : 0.1;
    }
    if (!is_lower) {
      if (inverse.size() == 0) break;
      inverse.resize(0, 0);  // The curvature was wrong: once more, straight down.
      continue;
    }
    const VectorXd moved = next - x;
    const VectorXd turned = next_gradient - gradient;
    const double curvature = moved.dot(turned);
    if (curvature > 1e-10 * moved.norm() * turned.norm()) {
      if (inverse.size() == 0) {
        inverse = Eigen::MatrixXd::Identity(size, size) * (curvature / turned.squaredNorm());
      }
      const VectorXd image = inverse * turned;
      inverse += (1 + turned.dot(image) / curvature) / curvature * moved * moved.transpose() -
                 (image * moved.transpose() + moved * image.transpose()) / curvature;
    }
    const double gained = value - next_value;
    x = next;
    gradient = next_gradient;
    value = next_value;
    if (gained < options.decrease_tolerance) break;
  }
  return value;
}

}  // namespace tune
