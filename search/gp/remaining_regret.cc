#include "search/gp/remaining_regret.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tune {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kDraws = 128;

// The lower factor of a covariance matrix that rounding may have made indefinite.
MatrixXd FactorOf(MatrixXd covariance) {
  const double scale = std::max(covariance.diagonal().maxCoeff(), 1e-12);
  for (double jitter = 1e-10 * scale;; jitter *= 10) {
    MatrixXd factor = covariance;
    factor.diagonal().array() += jitter;
    const Eigen::LLT<MatrixXd> decomposed(factor);
    if (decomposed.info() == Eigen::Success) return decomposed.matrixL();
    TUNE_CHECK(jitter < 10 * scale);
  }
}

}  // namespace

double RemainingRegret(const GpModel& model, const Surrogate& surrogate, const VectorXd& incumbent,
                       const Points& points, KeyedRandom random) {
  Points all(points.rows() + 1, points.cols());
  all << incumbent.transpose(), points;
  const VectorXd means = surrogate.Means(all);
  const MatrixXd factor = FactorOf(surrogate.JointCovariance(all));
  double sum = 0;
  for (Index draw = 0; draw < kDraws; ++draw) {
    VectorXd normal(all.rows());
    for (Index i = 0; i < normal.size(); ++i) normal[i] = random.NextNormal();
    const VectorXd values = means + factor.triangularView<Eigen::Lower>() * normal;
    sum += model.LossOf(values[0]) - model.LossOf(values.minCoeff());
  }
  return sum / static_cast<double>(kDraws);
}

}  // namespace tune
