// Gaussian process regression with a Matern 5/2 kernel that has a length of its own for each
// dimension (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, 2.2, 4.2 and
// algorithm 2.1):
//
//   k(x, x') = variance * (1 + sqrt(5) r + 5/3 r^2) exp(-sqrt(5) r)
//   r^2 = sum over dimensions of weight * gap^2,   weight = 1 / length^2
//
// The gap of two numbers is their difference, of two categories 0 or 1 (alike or not). The prior
// mean is 0: values are expected to be centred.
//
// Thread rule: immutable.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace tune {

// One row a point, one column a dimension.
using Points = Eigen::MatrixXd;
// Which dimensions are categories: their numbers are compared alone.
using CategoryFlags = std::vector<bool>;

struct GpParameters {
  Eigen::VectorXd weights;
  double variance = 1;
  double noise = 1e-4;  // Variance of what is seen around what is.
};

// Of the kernel with variance 1, from squared distances; and its derivative by them.
Eigen::ArrayXd Matern(const Eigen::ArrayXd& squared_distances);
Eigen::ArrayXd MaternSlope(const Eigen::ArrayXd& squared_distances);

class GaussianProcess {
 public:
  // `values`: NaN for a point whose value is still to come. It counts as if the process had seen
  // its own mean there, which takes away the variance and leaves the mean ("kriging believer":
  // Ginsbourger, Le Riche, Carraro, "Kriging Is Well-Suited to Parallelize Optimization", 2010).
  GaussianProcess(CategoryFlags is_category, GpParameters parameters, const Points& points,
                  const Eigen::VectorXd& values);

  Eigen::Index size() const { return points_.rows(); }
  const GpParameters& parameters() const { return parameters_; }

  // Of what is, without the noise; variances are above 0.
  struct Prediction {
    Eigen::ArrayXd means;
    Eigen::ArrayXd variances;
  };
  Prediction Predict(const Points& points) const;
  // E (f(x) - f(x'))^2 before anything is seen, of each of `points` to `other`.
  Eigen::ArrayXd PriorSquaredGaps(const Points& points, const Eigen::VectorXd& other) const;
  Eigen::ArrayXd Means(const Points& points) const;
  // Of what is at each two of them, once what was seen is known.
  Eigen::MatrixXd JointCovariance(const Points& points) const;
  // What it would expect at each of its points without having seen that one (Rasmussen and
  // Williams 2006, equation 5.12). Requires that it was made of values without NaN.
  Eigen::ArrayXd LeftOutMeans(const Eigen::VectorXd& values) const;

  // At one point, with derivatives by it: 0 for categories.
  struct Slopes {
    double mean = 0;
    double variance = 0;
    Eigen::VectorXd mean_by_point;
    Eigen::VectorXd variance_by_point;
  };
  Slopes PredictWithSlopes(const Eigen::VectorXd& point) const;

 private:
  Points Scaled(const Points& points) const;
  // Squared distances of a scaled point to each of ours.
  Eigen::ArrayXd SquaredDistances(const Eigen::VectorXd& scaled) const;
  Eigen::MatrixXd Covariances(const Points& points) const;
  void Factor();
  void SolveFor(const Eigen::VectorXd& values);

  CategoryFlags is_category_;
  GpParameters parameters_;
  Eigen::VectorXd roots_;   // Of the weights.
  Points points_;           // Numbers times roots_.
  Eigen::MatrixXd factor_;  // Lower Cholesky factor of kernel + noise.
  Eigen::VectorXd alpha_;   // (kernel + noise)^-1 values
};

}  // namespace tune
