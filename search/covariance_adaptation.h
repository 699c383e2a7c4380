// CMA-ES: a normal distribution that moves towards where the better points were and learns its
// shape from the steps that led there. Hansen, "The CMA Evolution Strategy: A Tutorial",
// arXiv:1604.00772, 2016: figure 6 with the default parameters of table 1, negative weights
// included. Scale and translation are the caller's: a point is any list of numbers.
//
// Thread rule: one thread.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"

namespace tune {

class CovarianceAdaptation {
 public:
  // `deviation`: of each coordinate at first. Requires population >= 2 and a mean of at least one
  // number.
  CovarianceAdaptation(Eigen::VectorXd mean, double deviation, int64_t population);

  // 4 + floor(3 ln dimensions).
  static int64_t DefaultPopulation(size_t dimensions);

  int64_t population() const { return static_cast<int64_t>(weights_.size()); }
  int64_t generation() const { return generation_; }
  const Eigen::VectorXd& mean() const { return mean_; }
  double DeviationOf(int64_t coordinate) const;
  void MoveMean(int64_t coordinate, double to) { mean_[coordinate] = to; }

  Eigen::VectorXd Draw(KeyedRandom& random) const;

  // One generation: as many points as the population, the best first. One that lies further out
  // than this distribution would have drawn it (it comes from an earlier one) counts as nearer, in
  // the same direction: Hansen, "Injecting External Solutions Into CMA-ES", arXiv:1110.4181, 2011.
  void Learn(std::span<const Eigen::VectorXd> ranked);

  // The weight of each rank in the mean: positive for the better half, zero for the others.
  double WeightOf(size_t rank) const { return std::max(0.0, weights_[static_cast<int64_t>(rank)]); }

  // Whether further steps lead nowhere: the deviations have shrunk below `smallest`, grown out of
  // proportion to the first one, or the covariance has become singular to a double's precision.
  bool IsExhausted(double smallest) const;

 private:
  void SetRates();
  void Decompose();
  // covariance^(-1/2) * step.
  Eigen::VectorXd Whitened(const Eigen::VectorXd& step) const;

  // State, named as in the tutorial; a step is in units of sigma.
  Eigen::VectorXd mean_;
  double sigma_;
  double first_sigma_;
  int64_t generation_ = 0;
  Eigen::MatrixXd covariance_;
  Eigen::MatrixXd axes_;     // Its eigenvectors ...
  Eigen::VectorXd lengths_;  // ... and the roots of its eigenvalues.
  Eigen::VectorXd sigma_path_;
  Eigen::VectorXd covariance_path_;

  // Constants of the population and the number of dimensions.
  Eigen::VectorXd weights_;
  double effective_ = 0;        // mu_eff
  double sigma_rate_ = 0;       // c_sigma
  double sigma_damping_ = 0;    // d_sigma
  double path_rate_ = 0;        // c_c
  double rank_one_rate_ = 0;    // c_1
  double rank_mu_rate_ = 0;     // c_mu
  double expected_length_ = 0;  // Of a standard normal step.
};

}  // namespace tune
