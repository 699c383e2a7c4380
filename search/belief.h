// What a person believes of a parameter (`guess` beside its domain): a density over the unit
// interval of its domain. Most of its mass lies about the guess, as a normal of kDeviation cut off
// at the ends, or of an unordered domain at the guess itself; the rest is spread evenly, so that a
// wrong guess costs little.
//
// A searcher that looks for the greatest acquisition multiplies it by density^weight. The weight
// falls with what is known (Hvarfner, Stoll, Souza, Lindauer, Hutter, Nardi, "piBO: Augmenting
// Acquisition Functions with User Beliefs for Bayesian Optimization", ICLR 2022, equation 6, with
// kStrength for beta), and is 0 where trials near the guesses came out no better than others.
//
// Thread rule: immutable.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "search/unit_space.h"

namespace tune {

class Belief {
 public:
  // Requires a domain with a guess.
  explicit Belief(const Domain& domain);

  struct LogSlope {
    double value = 0;
    double slope = 0;  // By x; 0 of an unordered domain.
  };
  // Of the density. Requires 0 <= x <= 1.
  LogSlope LogDensity(double x) const;
  // The x below which the mass u lies. Requires 0 <= u <= 1.
  double Quantile(double u) const;

 private:
  double Cdf(double x) const;

  bool is_ordered_;
  UnitCell cell_;  // Of the guess.
  double mass_;    // Of the whole normal within [0, 1].
};

class Beliefs {
 public:
  explicit Beliefs(const UnitSpace& space);

  bool is_empty() const { return is_empty_; }
  // Null where there is no guess.
  const Belief* Of(size_t dimension) const {
    return beliefs_[dimension] ? &*beliefs_[dimension] : nullptr;
  }
  // The sum over the parameters that exist.
  double LogDensity(const UnitCells& cells) const;

  // The exponent of the density, by what became of trials: the logarithm of each one's density, and
  // its loss.
  static double WeightOf(const std::vector<double>& log_densities,
                         const std::vector<double>& losses);

 private:
  std::vector<std::optional<Belief>> beliefs_;
  bool is_empty_ = true;
};

}  // namespace tune
