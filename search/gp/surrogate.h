// What a model expects of a whole training: a Gaussian process over what trials reach early, and
// one more for each later level, over what comes on top (autoregressive co-kriging: Kennedy,
// O'Hagan, "Predicting the Output from a Complex Computer Code when Fast Approximations Are
// Available", Biometrika 87(1), 2000; taken apart level by level as in Le Gratiet, Garnier,
// "Recursive Co-kriging Model", Int. J. Uncertainty Quantification 4(5), 2014, which asks that who
// reached a level has reached those below, as trials have):
//
//   f_0 = process_0,   f_l = slope_l f_(l-1) + process_l
//
// With one level it is a Gaussian process. Below the first may lie what an earlier sweep taught
// (search/gp/prior.h). It moves what is expected and nothing else: how unsure it was says nothing
// once trials of this sweep are there.
//
// Thread rule: immutable.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "search/gp/gaussian_process.h"

namespace tune {

class Surrogate {
 public:
  struct Level {
    double slope = 0;  // Of the level below; of the first, of the prior.
    double shift = 0;  // What is added to the process,
    double scale = 1;  // after it was multiplied by this.
    GaussianProcess process;
  };

  // At least one level, the lowest first.
  explicit Surrogate(std::vector<Level> levels, std::shared_ptr<const Surrogate> prior = nullptr);

  // Of the highest level.
  GaussianProcess::Prediction Predict(const Points& points) const;
  Eigen::ArrayXd Means(const Points& points) const;
  Eigen::MatrixXd JointCovariance(const Points& points) const;
  GaussianProcess::Slopes PredictWithSlopes(const Eigen::VectorXd& point) const;
  // The variance of what a whole training would show around what is.
  double noise() const;
  size_t level_count() const { return levels_.size(); }
  // Which of `points` differ from `other` by more than the noise, before anything is seen: there a
  // trial may tell something that one at `other` does not.
  Eigen::Array<bool, Eigen::Dynamic, 1> AreApart(const Points& points,
                                                 const Eigen::VectorXd& other) const;

 private:
  Eigen::ArrayXd PriorMeans(const Points& points) const;

  std::vector<Level> levels_;
  std::shared_ptr<const Surrogate> prior_;  // Null: there is none.
};

}  // namespace tune
