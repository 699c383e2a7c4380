#include "search/covariance_adaptation.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace tune {

using Eigen::MatrixXd;
using Eigen::VectorXd;

CovarianceAdaptation::CovarianceAdaptation(VectorXd mean, double deviation, int64_t population)
    : mean_(std::move(mean)), sigma_(deviation), first_sigma_(deviation), weights_(population) {
  TUNE_CHECK(mean_.size() >= 1 && population >= 2 && deviation > 0);
  const Eigen::Index n = mean_.size();
  covariance_ = MatrixXd::Identity(n, n);
  axes_ = MatrixXd::Identity(n, n);
  lengths_ = VectorXd::Ones(n);
  sigma_path_ = VectorXd::Zero(n);
  covariance_path_ = VectorXd::Zero(n);
  SetRates();
}

int64_t CovarianceAdaptation::DefaultPopulation(size_t dimensions) {
  return 4 + static_cast<int64_t>(std::floor(3 * std::log(static_cast<double>(dimensions))));
}

// Table 1, equations 49 to 58.
void CovarianceAdaptation::SetRates() {
  const auto n = static_cast<double>(mean_.size());
  const Eigen::Index population = weights_.size();
  const Eigen::Index better = population / 2;
  for (Eigen::Index i = 0; i < population; ++i) {
    weights_[i] =
        std::log((static_cast<double>(population) + 1) / 2) - std::log(static_cast<double>(i + 1));
  }
  const auto positive = weights_.head(better);
  const auto negative = weights_.tail(population - better);
  const double positive_sum = positive.sum();
  const double negative_sum = negative.cwiseAbs().sum();
  effective_ = positive_sum * positive_sum / positive.squaredNorm();
  const double negative_effective =
      negative_sum > 0 ? negative_sum * negative_sum / negative.squaredNorm() : 0.0;

  path_rate_ = (4 + effective_ / n) / (n + 4 + 2 * effective_ / n);
  rank_one_rate_ = 2 / ((n + 1.3) * (n + 1.3) + effective_);
  rank_mu_rate_ = std::min(1 - rank_one_rate_, 2 * (0.25 + effective_ + 1 / effective_ - 2) /
                                                   ((n + 2) * (n + 2) + effective_));
  sigma_rate_ = (effective_ + 2) / (n + effective_ + 5);
  sigma_damping_ = 1 + 2 * std::max(0.0, std::sqrt((effective_ - 1) / (n + 1)) - 1) + sigma_rate_;
  expected_length_ = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));

  // The negative weights are bounded so that the covariance stays positive definite.
  const double bound =
      std::min({1 + rank_one_rate_ / rank_mu_rate_, 1 + 2 * negative_effective / (effective_ + 2),
                (1 - rank_one_rate_ - rank_mu_rate_) / (n * rank_mu_rate_)});
  weights_.head(better) /= positive_sum;
  if (negative_sum > 0) weights_.tail(population - better) *= std::max(0.0, bound) / negative_sum;
}

double CovarianceAdaptation::DeviationOf(int64_t coordinate) const {
  return sigma_ * std::sqrt(covariance_(coordinate, coordinate));
}

VectorXd CovarianceAdaptation::Draw(KeyedRandom& random) const {
  VectorXd z(mean_.size());
  for (double& x : z) x = random.NextNormal();
  return mean_ + sigma_ * (axes_ * lengths_.cwiseProduct(z));
}

VectorXd CovarianceAdaptation::Whitened(const VectorXd& step) const {
  return axes_ * (axes_.transpose() * step).cwiseQuotient(lengths_);
}

void CovarianceAdaptation::Learn(std::span<const VectorXd> ranked) {
  TUNE_CHECK(static_cast<int64_t>(ranked.size()) == population());
  const auto n = static_cast<double>(mean_.size());
  const double longest = std::sqrt(n) + 2 * n / (n + 2);
  std::vector<VectorXd> steps;
  std::vector<double> distances;  // Of each step, in the distribution's own measure.
  VectorXd step = VectorXd::Zero(mean_.size());
  for (size_t i = 0; i < ranked.size(); ++i) {
    steps.push_back((ranked[i] - mean_) / sigma_);
    const double distance = Whitened(steps[i]).norm();
    if (distance > longest) steps[i] *= longest / distance;
    distances.push_back(std::min(distance, longest));
    step += WeightOf(i) * steps[i];
  }
  mean_ += sigma_ * step;
  ++generation_;

  // Equations 43 and 44: the length of the path says whether steps cancel or add up.
  sigma_path_ = (1 - sigma_rate_) * sigma_path_ +
                std::sqrt(sigma_rate_ * (2 - sigma_rate_) * effective_) * Whitened(step);
  const double path = sigma_path_.norm() / expected_length_;
  sigma_ *= std::exp(std::min(1.0, sigma_rate_ / sigma_damping_ * (path - 1)));

  // Equations 45 to 47. A path that is too long because sigma was too small teaches nothing about
  // the shape.
  const double begun = 1 - std::pow(1 - sigma_rate_, 2 * static_cast<double>(generation_ + 1));
  const bool is_steady = path / std::sqrt(begun) < 1.4 + 2 / (n + 1);
  covariance_path_ *= 1 - path_rate_;
  if (is_steady) {
    covariance_path_ += std::sqrt(path_rate_ * (2 - path_rate_) * effective_) * step;
  }
  const double lost = is_steady ? 0.0 : path_rate_ * (2 - path_rate_);
  covariance_ *= 1 + rank_one_rate_ * lost - rank_one_rate_ - rank_mu_rate_ * weights_.sum();
  covariance_ += rank_one_rate_ * covariance_path_ * covariance_path_.transpose();
  for (size_t i = 0; i < steps.size(); ++i) {
    double weight = weights_[static_cast<Eigen::Index>(i)];
    if (weight < 0) weight *= n / std::max(distances[i] * distances[i], 1e-12);
    covariance_ += rank_mu_rate_ * weight * steps[i] * steps[i].transpose();
  }
  Decompose();
}

void CovarianceAdaptation::Decompose() {
  covariance_ = (covariance_ + covariance_.transpose().eval()) / 2;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(covariance_);
  axes_ = solver.eigenvectors();
  // Rounding may leave an eigenvalue at or below zero.
  const double least = 1e-20 * std::max(1e-280, solver.eigenvalues().maxCoeff());
  lengths_ = solver.eigenvalues().cwiseMax(least).cwiseSqrt();
}

bool CovarianceAdaptation::IsExhausted(double smallest) const {
  const VectorXd deviations = sigma_ * covariance_.diagonal().cwiseMax(0.0).cwiseSqrt();
  const double longest = lengths_.maxCoeff();
  return !std::isfinite(sigma_) || !mean_.allFinite() ||
         (deviations.maxCoeff() < smallest &&
          sigma_ * covariance_path_.cwiseAbs().maxCoeff() < smallest) ||
         sigma_ * longest > 1e4 * first_sigma_ || longest > 1e7 * lengths_.minCoeff();
}

}  // namespace tune
