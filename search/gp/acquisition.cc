#include "search/gp/acquisition.h"

#include <cmath>

#include "search/gp/expected_improvement.h"
#include "search/normal.h"

namespace tune {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::VectorXd;

namespace {

constexpr double kLogRootTwoPi = 0.91893853320467274178;

}  // namespace

ArrayXd LossImprovement::Values(const Points& points) const {
  const auto predicted = surrogate_.Predict(points);
  ArrayXd values(points.rows());
  for (Index i = 0; i < points.rows(); ++i) {
    const double deviation = std::sqrt(predicted.variances[i]);
    values[i] = LogAugmentedImprovement(predicted.means[i], deviation, best_, noise_).value;
  }
  return values;
}

double LossImprovement::ValueWithSlope(const VectorXd& point, VectorXd& slope) const {
  const auto at = surrogate_.PredictWithSlopes(point);
  const double deviation = std::sqrt(at.variance);
  const LogImprovement gain = LogAugmentedImprovement(at.mean, deviation, best_, noise_);
  slope =
      gain.by_mean * at.mean_by_point + gain.by_deviation / (2 * deviation) * at.variance_by_point;
  return gain.value;
}

ArrayXd FrontImprovement::Values(const Points& points) const {
  const auto count = static_cast<Index>(surrogates_.size());
  Eigen::MatrixXd means(count, points.rows());
  Eigen::MatrixXd deviations(count, points.rows());
  for (Index k = 0; k < count; ++k) {
    const auto predicted = surrogates_[static_cast<size_t>(k)].Predict(points);
    means.row(k) = predicted.means.matrix();
    deviations.row(k) = predicted.variances.sqrt().matrix();
  }
  ArrayXd values(points.rows());
  for (Index i = 0; i < points.rows(); ++i) {
    values[i] = improvement_.Log(means.col(i), deviations.col(i));
  }
  return values;
}

double FrontImprovement::ValueWithSlope(const VectorXd& point, VectorXd& slope) const {
  const auto count = static_cast<Index>(surrogates_.size());
  std::vector<GaussianProcess::Slopes> at;
  VectorXd means(count);
  VectorXd deviations(count);
  for (Index k = 0; k < count; ++k) {
    at.push_back(surrogates_[static_cast<size_t>(k)].PredictWithSlopes(point));
    means[k] = at.back().mean;
    deviations[k] = std::sqrt(at.back().variance);
  }
  VectorXd by_means;
  VectorXd by_deviations;
  const double value = improvement_.LogWithSlopes(means, deviations, by_means, by_deviations);
  slope = VectorXd::Zero(point.size());
  for (Index k = 0; k < count; ++k) {
    const GaussianProcess::Slopes& of = at[static_cast<size_t>(k)];
    slope += by_means[k] * of.mean_by_point +
             by_deviations[k] / (2 * deviations[k]) * of.variance_by_point;
  }
  return value;
}

Eigen::Array<bool, Eigen::Dynamic, 1> FrontImprovement::AreApart(const Points& points,
                                                                 const VectorXd& other) const {
  Eigen::Array<bool, Eigen::Dynamic, 1> apart =
      Eigen::Array<bool, Eigen::Dynamic, 1>::Constant(points.rows(), false);
  for (const Surrogate& surrogate : surrogates_) apart = apart || surrogate.AreApart(points, other);
  return apart;
}

ArrayXd FeasibleAcquisition::Values(const Points& points) const {
  ArrayXd values = promise_ ? promise_->Values(points) : ArrayXd::Zero(points.rows());
  for (size_t k = 0; k < limits_.size(); ++k) {
    const auto predicted = limits_[k].Predict(points);
    for (Index i = 0; i < points.rows(); ++i) {
      const double deviation = std::sqrt(predicted.variances[i]);
      values[i] += LogNormalCdf((bounds_[k] - predicted.means[i]) / deviation);
    }
  }
  return values;
}

double FeasibleAcquisition::ValueWithSlope(const VectorXd& point, VectorXd& slope) const {
  slope = VectorXd::Zero(point.size());
  double value = promise_ ? promise_->ValueWithSlope(point, slope) : 0;
  for (size_t k = 0; k < limits_.size(); ++k) {
    const auto at = limits_[k].PredictWithSlopes(point);
    const double deviation = std::sqrt(at.variance);
    const double z = (bounds_[k] - at.mean) / deviation;
    const double log_cdf = LogNormalCdf(z);
    // The density over the cdf, which stays finite where both vanish.
    const double by_z = std::exp(-0.5 * z * z - kLogRootTwoPi - log_cdf);
    value += log_cdf;
    slope -= by_z / deviation * (at.mean_by_point + z / (2 * deviation) * at.variance_by_point);
  }
  return value;
}

Eigen::Array<bool, Eigen::Dynamic, 1> FeasibleAcquisition::AreApart(const Points& points,
                                                                    const VectorXd& other) const {
  Eigen::Array<bool, Eigen::Dynamic, 1> apart =
      Eigen::Array<bool, Eigen::Dynamic, 1>::Constant(points.rows(), false);
  if (promise_) apart = promise_->AreApart(points, other);
  for (const Surrogate& limit : limits_) apart = apart || limit.AreApart(points, other);
  return apart;
}

}  // namespace tune
