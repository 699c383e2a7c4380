#include "search/gp/surrogate.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tune {

Surrogate::Surrogate(std::vector<Level> levels, std::shared_ptr<const Surrogate> prior)
    : levels_(std::move(levels)), prior_(std::move(prior)) {
  TUNE_CHECK(!levels_.empty());
}

GaussianProcess::Prediction Surrogate::Predict(const Points& points) const {
  GaussianProcess::Prediction out = {PriorMeans(points), Eigen::ArrayXd::Zero(points.rows())};
  for (const auto& [slope, shift, scale, process] : levels_) {
    const auto above = process.Predict(points);
    out.means = slope * out.means + shift + scale * above.means;
    out.variances = slope * slope * out.variances + scale * scale * above.variances;
  }
  return out;
}

Eigen::ArrayXd Surrogate::PriorMeans(const Points& points) const {
  if (prior_ == nullptr) return Eigen::ArrayXd::Zero(points.rows());
  return prior_->Means(points);
}

Eigen::ArrayXd Surrogate::Means(const Points& points) const {
  Eigen::ArrayXd out = PriorMeans(points);
  for (const auto& [slope, shift, scale, process] : levels_) {
    out = slope * out + shift + scale * process.Means(points);
  }
  return out;
}

Eigen::MatrixXd Surrogate::JointCovariance(const Points& points) const {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(points.rows(), points.rows());
  for (const auto& [slope, shift, scale, process] : levels_) {
    out = slope * slope * out + scale * scale * process.JointCovariance(points);
  }
  return out;
}

GaussianProcess::Slopes Surrogate::PredictWithSlopes(const Eigen::VectorXd& point) const {
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(point.size());
  GaussianProcess::Slopes out = {0, 0, zero, zero};
  if (prior_ != nullptr) {
    GaussianProcess::Slopes expected = prior_->PredictWithSlopes(point);
    out.mean = expected.mean;
    out.mean_by_point = std::move(expected.mean_by_point);
  }
  for (const auto& [slope, shift, scale, process] : levels_) {
    const auto above = process.PredictWithSlopes(point);
    out.mean = slope * out.mean + shift + scale * above.mean;
    out.mean_by_point = slope * out.mean_by_point + scale * above.mean_by_point;
    out.variance = slope * slope * out.variance + scale * scale * above.variance;
    out.variance_by_point =
        slope * slope * out.variance_by_point + scale * scale * above.variance_by_point;
  }
  return out;
}

double Surrogate::noise() const {
  double noise = 0;
  for (const auto& [slope, shift, scale, process] : levels_) {
    noise = slope * slope * noise + scale * scale * process.parameters().noise;
  }
  return noise;
}

Eigen::Array<bool, Eigen::Dynamic, 1> Surrogate::AreApart(const Points& points,
                                                          const Eigen::VectorXd& other) const {
  // However loud the noise, a trial keeps others from its neighbourhood, never from a region.
  constexpr double kNoiseShareMax = 0.1;
  Eigen::ArrayXd gaps = Eigen::ArrayXd::Zero(points.rows());
  double variance = 0;
  for (const auto& [slope, shift, scale, process] : levels_) {
    gaps = slope * slope * gaps + scale * scale * process.PriorSquaredGaps(points, other);
    variance = slope * slope * variance + scale * scale * process.parameters().variance;
  }
  return gaps > 2 * std::min(noise(), kNoiseShareMax * variance);
}

}  // namespace tune
