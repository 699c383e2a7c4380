// What a configuration promises, as a search for the best of them sees it: a function of the point,
// to be made great. And the promises that there are.
//
// Thread rule: immutable; what an acquisition looks at must outlive it.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <utility>
#include <vector>

#include "search/gp/gaussian_process.h"
#include "search/gp/hypervolume_improvement.h"
#include "search/gp/surrogate.h"

namespace tune {

class Acquisition {
 public:
  virtual ~Acquisition() = default;

  // A logarithm, finite.
  virtual Eigen::ArrayXd Values(const Points& points) const = 0;
  // `slope`: the derivatives by the point; 0 for categories.
  virtual double ValueWithSlope(const Eigen::VectorXd& point, Eigen::VectorXd& slope) const = 0;
  // Of each of `points`, whether it may tell something that `other` does not.
  virtual Eigen::Array<bool, Eigen::Dynamic, 1> AreApart(const Points& points,
                                                         const Eigen::VectorXd& other) const = 0;
};

// Improvement of one loss on `best`. `noise`: as of LogAugmentedImprovement.
class LossImprovement final : public Acquisition {
 public:
  LossImprovement(const Surrogate& surrogate, double best, double noise)
      : surrogate_(surrogate), best_(best), noise_(noise) {}

  Eigen::ArrayXd Values(const Points& points) const override;
  double ValueWithSlope(const Eigen::VectorXd& point, Eigen::VectorXd& slope) const override;
  Eigen::Array<bool, Eigen::Dynamic, 1> AreApart(const Points& points,
                                                 const Eigen::VectorXd& other) const override {
    return surrogate_.AreApart(points, other);
  }

 private:
  const Surrogate& surrogate_;
  double best_;
  double noise_;
};

// Improvement of several losses, each with a surrogate of its own, on the volume that a front
// dominates.
class FrontImprovement final : public Acquisition {
 public:
  FrontImprovement(const std::vector<Surrogate>& surrogates, HypervolumeImprovement improvement)
      : surrogates_(surrogates), improvement_(std::move(improvement)) {}

  Eigen::ArrayXd Values(const Points& points) const override;
  double ValueWithSlope(const Eigen::VectorXd& point, Eigen::VectorXd& slope) const override;
  // One objective in which they may differ is enough.
  Eigen::Array<bool, Eigen::Dynamic, 1> AreApart(const Points& points,
                                                 const Eigen::VectorXd& other) const override;

 private:
  const std::vector<Surrogate>& surrogates_;
  HypervolumeImprovement improvement_;
};

// Another promise where limits on results have to be kept: times the probability that all are,
// which by independent surrogates is the product over the limits of cdf((bound - mean) / deviation)
// (Gardner, Kusner, Xu, Weinberger, Cunningham, "Bayesian Optimization with Inequality
// Constraints", ICML 2014, equations 7 to 9). With no other promise, while nothing feasible is
// known that could be improved on, the probability alone (Gelbart, Snoek, Adams, "Bayesian
// Optimization with Unknown Constraints", UAI 2014, equation 6).
class FeasibleAcquisition final : public Acquisition {
 public:
  // `promise`: may be null. `bounds`: of each limit what its surrogate must not exceed.
  FeasibleAcquisition(std::unique_ptr<Acquisition> promise, const std::vector<Surrogate>& limits,
                      std::vector<double> bounds)
      : promise_(std::move(promise)), limits_(limits), bounds_(std::move(bounds)) {}

  Eigen::ArrayXd Values(const Points& points) const override;
  double ValueWithSlope(const Eigen::VectorXd& point, Eigen::VectorXd& slope) const override;
  Eigen::Array<bool, Eigen::Dynamic, 1> AreApart(const Points& points,
                                                 const Eigen::VectorXd& other) const override;

 private:
  std::unique_ptr<Acquisition> promise_;
  const std::vector<Surrogate>& limits_;
  std::vector<double> bounds_;
};

}  // namespace tune
