// Losses as a Gaussian process likes them: standardised, and bent by the power of Yeo and Johnson
// ("A New Family of Power Transformations to Improve Normality or Symmetry", Biometrika 87(4),
// 2000) under which those it was made of look most normal, as in HEBO (Cowen-Rivers et al., JAIR
// 74, 2022). Bad losses then no longer flatten the differences between the good ones; those out of
// all proportion, as of a training that blew up, are cut off before.
//
// Thread rule: immutable.
#pragma once

#include <optional>
#include <span>

namespace tune {

class LossWarp {
 public:
  // Requires finite losses, at least one. `bound`: one that what is greater must stay apart from,
  // however far it lies beyond the others.
  explicit LossWarp(std::span<const double> losses, std::optional<double> bound = {});

  // Whether they differ, but for rounding. If not there is no scale: what is seen is the loss.
  bool has_spread() const { return has_spread_; }
  // Rises with the loss, up to where it is cut off; infinity counts as the worst loss that it was
  // made of, minus infinity and what is as good as that as the best.
  double operator()(double loss) const;
  // The same of what is no result: greater ones are not cut off, but go on along a line.
  double Uncut(double loss) const;
  // The loss that is seen so; also of what lies beyond those it was made of.
  double LossOf(double seen) const;

 private:
  double Bend(double loss) const;

  bool has_spread_ = false;
  double lowest_ = 0;
  double highest_ = 0;  // Greater ones are cut off.
  double mean_ = 0;
  double deviation_ = 1;
  double power_ = 1;
  double bent_mean_ = 0;
  double bent_deviation_ = 1;
};

}  // namespace tune
