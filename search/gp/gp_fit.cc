#include "search/gp/gp_fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "search/gp/quasi_newton.h"

namespace tune {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kLeastNoise = 1e-8;
// Of the logarithm of a weight, which is -2 log(length).
constexpr double kLogWeightMean = 0.45;
constexpr double kLogWeightDeviation = 1.8;

// The lower half of the inverse of L L'.
MatrixXd InverseOf(const MatrixXd& lower) {
  constexpr Index kBlock = 32;
  const Index size = lower.rows();
  MatrixXd root = MatrixXd::Zero(size, size);  // L^-1, which is lower too: half of the work.
  for (Index at = 0; at < size; at += kBlock) {
    const Index width = std::min(kBlock, size - at);
    auto block = root.block(at, at, size - at, width);
    block.topRows(width).setIdentity();
    lower.bottomRightCorner(size - at, size - at)
        .triangularView<Eigen::Lower>()
        .solveInPlace(block);
  }
  MatrixXd inverse(size, size);
  for (Index at = 0; at < size; at += kBlock) {
    const Index width = std::min(kBlock, size - at);
    inverse.block(at, 0, width, at + width).noalias() =
        root.block(at, at, size - at, width).transpose() * root.block(at, 0, size - at, at + width);
  }
  return inverse;
}

}  // namespace

template <typename Visit>
void GpEvidence::VisitColumns(Visit visit) const {
  Index first = 0;
  for (Index j = 0; j + 1 < values_.size(); ++j) {
    const Index below = values_.size() - 1 - j;
    visit(j, first, below);
    first += below;
  }
}

GpEvidence::GpEvidence(const CategoryFlags& is_category, const Points& points,
                       const VectorXd& values)
    : values_(values), gaps_(values.size() * (values.size() - 1) / 2, points.cols()) {
  VisitColumns([&](Index j, Index first, Index below) {
    for (Index d = 0; d < points.cols(); ++d) {
      const auto others = points.col(d).tail(below).array();
      auto out = gaps_.col(d).segment(first, below).array();
      if (is_category[static_cast<size_t>(d)]) {
        out = (others != points(j, d)).cast<double>();
      } else {
        out = (others - points(j, d)).square();
      }
    }
  });
}

double GpEvidence::operator()(const VectorXd& logs, VectorXd& gradient) const {
  const Index size = values_.size();
  const Index dims = gaps_.cols();
  const VectorXd exps = logs.array().exp();
  const VectorXd weights = exps.head(dims);
  const double variance = exps[dims];
  const double noise = exps[dims + 1];
  const ArrayXd squared = gaps_ * weights;
  const ArrayXd kernel = variance * Matern(squared);
  MatrixXd matrix(size, size);
  matrix.diagonal().setConstant(variance + noise);
  VisitColumns([&](Index j, Index first, Index below) {
    matrix.col(j).tail(below) = kernel.segment(first, below);
  });
  const Eigen::LLT<Eigen::Ref<MatrixXd>> decomposition(matrix);
  if (decomposition.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
  VectorXd alpha = values_;
  decomposition.solveInPlace(alpha);
  double loss = 0.5 * values_.dot(alpha) + matrix.diagonal().array().log().sum();

  // By an entry of the kernel the slope is (inverse - alpha alpha') / 2, and each pair has two.
  const MatrixXd inverse = InverseOf(matrix);
  ArrayXd by_kernel(gaps_.rows());
  VisitColumns([&](Index j, Index first, Index below) {
    by_kernel.segment(first, below) = (inverse.col(j) - alpha * alpha[j]).tail(below);
  });
  const double by_diagonal = 0.5 * (inverse.diagonal().sum() - alpha.squaredNorm());
  const VectorXd by_squared = by_kernel * variance * MaternSlope(squared);
  gradient.resize(dims + 2);
  gradient.head(dims) = (gaps_.transpose() * by_squared).cwiseProduct(weights);
  gradient[dims] = by_diagonal * variance + (by_kernel * kernel).sum();
  gradient[dims + 1] = by_diagonal * noise;
  AddPriors(logs, loss, gradient);
  return loss;
}

void GpEvidence::AddPriors(const VectorXd& logs, double& loss, VectorXd& gradient) const {
  const Index dims = gaps_.cols();
  const ArrayXd off = (logs.head(dims).array() - kLogWeightMean) / kLogWeightDeviation;
  loss += 0.5 * off.square().sum();
  gradient.head(dims).array() += off / kLogWeightDeviation;
  const double variance = std::exp(logs[dims]);
  loss -= logs[dims] - variance;
  gradient[dims] -= 1 - variance;
  const double noise = std::exp(logs[dims + 1]);
  loss -= 0.1 * logs[dims + 1] - 30 * noise;
  gradient[dims + 1] -= 0.1 - 30 * noise;
}

GpParameters FitGpParameters(const CategoryFlags& is_category, const Points& points,
                             const VectorXd& values, bool is_noisy) {
  TUNE_CHECK(points.rows() > 0 && values.size() == points.rows());
  const Index dims = points.cols();
  VectorXd lower = VectorXd::Constant(dims + 2, std::log(1e-4));
  VectorXd upper = VectorXd::Constant(dims + 2, std::log(1e4));
  lower[dims] = std::log(1e-2);
  upper[dims] = std::log(1e2);
  lower[dims + 1] = std::log(kLeastNoise);
  upper[dims + 1] = is_noisy ? 0 : lower[dims + 1];
  VectorXd logs = VectorXd::Zero(dims + 2);
  logs[dims + 1] = std::min(std::log(1e-3), upper[dims + 1]);
  const QuasiNewtonOptions options = {.iterations_max = 40,
                                      .first_step = 1,
                                      .gradient_tolerance = 1e-2,
                                      .decrease_tolerance = 1e-3};
  MinimizeInBox(lower, upper, options, GpEvidence(is_category, points, values), logs);
  const VectorXd found = logs.array().exp();
  return {found.head(dims), found[dims], found[dims + 1]};
}

double GpMisfit(const CategoryFlags& is_category, const Points& points, const VectorXd& values,
                const GpParameters& parameters) {
  VectorXd logs(points.cols() + 2);
  logs << parameters.weights, parameters.variance, parameters.noise;
  logs = logs.array().log();
  VectorXd gradient(logs.size());
  return GpEvidence(is_category, points, values)(logs, gradient);
}

}  // namespace tune
