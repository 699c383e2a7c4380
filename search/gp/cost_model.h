// What a trial costs, by its configuration: a Gaussian process over the logarithm of the seconds
// that trials took. Of trials that a scheduler stopped early what counts is their pace: seconds for
// each iteration.
//
// `search: {algorithm: gp, per: seconds}` divides what a configuration promises by what it is
// expected to cost ("expected improvement per second": Snoek, Larochelle, Adams, "Practical
// Bayesian Optimization of Machine Learning Algorithms", NIPS 2012, section 3.2).
//
// Thread rule: immutable.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <utility>

#include "search/gp/acquisition.h"
#include "search/gp/gaussian_process.h"

namespace tune {

class CostModel {
 public:
  // `seconds`: above 0, one for each of `points`. Requires one at least.
  CostModel(const CategoryFlags& is_category, const Points& points, const Eigen::VectorXd& seconds);

  // The logarithm of the seconds.
  Eigen::ArrayXd LogSeconds(const Points& points) const;
  double LogSecondsWithSlope(const Eigen::VectorXd& point, Eigen::VectorXd& slope) const;

 private:
  double mean_;
  double deviation_;
  GaussianProcess process_;
};

// Another promise, for each second that it is expected to cost.
class PerSecond final : public Acquisition {
 public:
  PerSecond(std::unique_ptr<Acquisition> promise, const CostModel& cost)
      : promise_(std::move(promise)), cost_(cost) {}

  Eigen::ArrayXd Values(const Points& points) const override {
    return promise_->Values(points) - cost_.LogSeconds(points);
  }
  double ValueWithSlope(const Eigen::VectorXd& point, Eigen::VectorXd& slope) const override;
  Eigen::Array<bool, Eigen::Dynamic, 1> AreApart(const Points& points,
                                                 const Eigen::VectorXd& other) const override {
    return promise_->AreApart(points, other);
  }

 private:
  std::unique_ptr<Acquisition> promise_;
  const CostModel& cost_;
};

}  // namespace tune
