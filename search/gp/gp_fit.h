// The parameters of a Gaussian process that are likeliest after what was seen (maximum a
// posteriori; Rasmussen and Williams 2006, 5.4.1), found along the slope from one fixed start: they
// follow from the points and values alone.
//
// Priors, for standardised values in the unit cube. Lengths: log-normal around 0.8, the logarithm's
// deviation 0.9, so that a dimension may turn out not to matter. Variance gamma(2, 1) and noise
// gamma(1.1, 30), as in Optuna's GPSampler.
//
// Thread rule: pure functions.
#pragma once

#include "search/gp/gaussian_process.h"

namespace tune {

// Minus the logarithm of likelihood times priors, but for a constant. `logs`: the logarithms of
// weights, variance and noise, in this order. Requires a point, and no NaN.
class GpEvidence {
 public:
  // The values must outlive it.
  GpEvidence(const CategoryFlags& is_category, const Points& points, const Eigen::VectorXd& values);

  // Infinite where rounding leaves no process; the gradient is then left as it was.
  double operator()(const Eigen::VectorXd& logs, Eigen::VectorXd& gradient) const;

 private:
  // Pairs of points: those below the diagonal, column after column.
  template <typename Visit>  // void(Index column, Index first_pair, Index count)
  void VisitColumns(Visit visit) const;
  void AddPriors(const Eigen::VectorXd& logs, double& loss, Eigen::VectorXd& gradient) const;

  const Eigen::VectorXd& values_;
  Eigen::MatrixXd gaps_;  // Squared, of each pair in each dimension.
};

// `is_noisy`: whether the same point may give different values; else the noise is the least that
// keeps the arithmetic sound.
GpParameters FitGpParameters(const CategoryFlags& is_category, const Points& points,
                             const Eigen::VectorXd& values, bool is_noisy);

// Minus the logarithm of likelihood times priors under `parameters`, but for a constant: what is
// less explains the values better.
double GpMisfit(const CategoryFlags& is_category, const Points& points,
                const Eigen::VectorXd& values, const GpParameters& parameters);

}  // namespace tune
