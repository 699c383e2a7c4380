#include "search/gp/gaussian_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace tune {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

const double kRoot5 = std::sqrt(5.0);
constexpr double kLeastVariance = 1e-12;  // In parts of the prior's.

}  // namespace

ArrayXd Matern(const ArrayXd& squared_distances) {
  const ArrayXd scaled = kRoot5 * squared_distances.sqrt();
  return (1 + scaled + 5.0 / 3 * squared_distances) * (-scaled).exp();
}

ArrayXd MaternSlope(const ArrayXd& squared_distances) {
  const ArrayXd scaled = kRoot5 * squared_distances.sqrt();
  return -5.0 / 6 * (1 + scaled) * (-scaled).exp();
}

GaussianProcess::GaussianProcess(CategoryFlags is_category, GpParameters parameters,
                                 const Points& points, const VectorXd& values)
    : is_category_(std::move(is_category)),
      parameters_(std::move(parameters)),
      roots_(parameters_.weights.cwiseSqrt()) {
  TUNE_CHECK(roots_.size() == static_cast<Index>(is_category_.size()));
  TUNE_CHECK(points.cols() == roots_.size() && points.rows() == values.size());
  points_ = Scaled(points);
  Factor();
  SolveFor(values);
}

Points GaussianProcess::Scaled(const Points& points) const {
  Points scaled = points;
  for (Index d = 0; d < points.cols(); ++d) {
    if (!is_category_[static_cast<size_t>(d)]) scaled.col(d) *= roots_[d];
  }
  return scaled;
}

ArrayXd GaussianProcess::SquaredDistances(const VectorXd& scaled) const {
  ArrayXd out = ArrayXd::Zero(size());
  for (Index d = 0; d < scaled.size(); ++d) {
    const auto column = points_.col(d).array();
    if (is_category_[static_cast<size_t>(d)]) {
      out += (column != scaled[d]).cast<double>() * parameters_.weights[d];
    } else {
      out += (column - scaled[d]).square();
    }
  }
  return out;
}

void GaussianProcess::Factor() {
  MatrixXd kernel(size(), size());
  for (Index i = 0; i < size(); ++i) {
    kernel.col(i) = parameters_.variance * Matern(SquaredDistances(points_.row(i)));
  }
  // A matrix that rounding has made indefinite is made definite by more noise.
  const double least = kLeastVariance * parameters_.variance;
  for (double noise = parameters_.noise;; noise = std::max(10 * noise, least)) {
    factor_ = kernel;
    factor_.diagonal().array() += noise;
    if (Eigen::LLT<Eigen::Ref<MatrixXd>>(factor_).info() == Eigen::Success) return;
    TUNE_CHECK(noise < 1e6 * (parameters_.variance + parameters_.noise));
  }
}

void GaussianProcess::SolveFor(const VectorXd& values) {
  const auto solve = [&](auto& in_out) {
    factor_.triangularView<Eigen::Lower>().solveInPlace(in_out);
    factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(in_out);
  };
  std::vector<Index> missing;
  for (Index i = 0; i < size(); ++i) {
    if (std::isnan(values[i])) missing.push_back(i);
  }
  alpha_ = values.array().isNaN().select(0, values);
  solve(alpha_);
  if (missing.empty()) return;
  // With P = (kernel + noise)^-1, the mean of the missing given the others is
  // -P_mm^-1 P_mo values_o; alpha_ is now P_.o values_o.
  MatrixXd columns = MatrixXd::Zero(size(), static_cast<Index>(missing.size()));
  for (size_t i = 0; i < missing.size(); ++i) columns(missing[i], static_cast<Index>(i)) = 1;
  solve(columns);
  const MatrixXd precision = columns(missing, Eigen::all);
  const VectorXd pull = alpha_(missing);
  alpha_ -= columns * precision.llt().solve(pull);
}

MatrixXd GaussianProcess::Covariances(const Points& points) const {
  const Points scaled = Scaled(points);
  MatrixXd out(size(), points.rows());
  for (Index i = 0; i < points.rows(); ++i) {
    out.col(i) = parameters_.variance * Matern(SquaredDistances(scaled.row(i)));
  }
  return out;
}

ArrayXd GaussianProcess::PriorSquaredGaps(const Points& points, const VectorXd& other) const {
  ArrayXd squared = ArrayXd::Zero(points.rows());
  for (Index d = 0; d < points.cols(); ++d) {
    const auto column = points.col(d).array();
    const double weight = parameters_.weights[d];
    if (is_category_[static_cast<size_t>(d)]) {
      squared += (column != other[d]).cast<double>() * weight;
    } else {
      squared += (column - other[d]).square() * weight;
    }
  }
  return 2 * parameters_.variance * (1 - Matern(squared));
}

ArrayXd GaussianProcess::Means(const Points& points) const {
  return Covariances(points).transpose() * alpha_;
}

MatrixXd GaussianProcess::JointCovariance(const Points& points) const {
  MatrixXd covariances = Covariances(points);
  factor_.triangularView<Eigen::Lower>().solveInPlace(covariances);
  MatrixXd joint(points.rows(), points.rows());
  for (Index i = 0; i < points.rows(); ++i) {
    joint.col(i) = -0.5 * PriorSquaredGaps(points, points.row(i)) + parameters_.variance;
  }
  joint -= covariances.transpose() * covariances;
  return joint;
}

ArrayXd GaussianProcess::LeftOutMeans(const VectorXd& values) const {
  TUNE_CHECK(values.size() == size() && !values.array().isNaN().any());
  MatrixXd inverse_factor = MatrixXd::Identity(size(), size());
  factor_.triangularView<Eigen::Lower>().solveInPlace(inverse_factor);
  const ArrayXd precisions = inverse_factor.colwise().squaredNorm().transpose();
  return values.array() - alpha_.array() / precisions;
}

GaussianProcess::Prediction GaussianProcess::Predict(const Points& points) const {
  MatrixXd covariances = Covariances(points);
  Prediction out;
  out.means = covariances.transpose() * alpha_;
  factor_.triangularView<Eigen::Lower>().solveInPlace(covariances);
  out.variances = (parameters_.variance - covariances.colwise().squaredNorm().array().transpose())
                      .max(kLeastVariance * parameters_.variance);
  return out;
}

GaussianProcess::Slopes GaussianProcess::PredictWithSlopes(const VectorXd& point) const {
  const VectorXd scaled = Scaled(point.transpose()).transpose();
  const ArrayXd squared = SquaredDistances(scaled);
  const VectorXd covariance = parameters_.variance * Matern(squared);
  VectorXd pull = covariance;
  factor_.triangularView<Eigen::Lower>().solveInPlace(pull);
  Slopes out;
  out.mean = covariance.dot(alpha_);
  out.variance =
      std::max(parameters_.variance - pull.squaredNorm(), kLeastVariance * parameters_.variance);
  factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(pull);
  // Now (kernel + noise)^-1 covariance.
  const ArrayXd slope = 2 * parameters_.variance * MaternSlope(squared);
  out.mean_by_point = VectorXd::Zero(point.size());
  out.variance_by_point = VectorXd::Zero(point.size());
  for (Index d = 0; d < point.size(); ++d) {
    if (is_category_[static_cast<size_t>(d)]) continue;
    const VectorXd by = slope * (scaled[d] - points_.col(d).array()) * roots_[d];
    out.mean_by_point[d] = by.dot(alpha_);
    out.variance_by_point[d] = -2 * by.dot(pull);
  }
  return out;
}

}  // namespace tune
