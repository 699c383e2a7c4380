#include "search/gp/loss_warp.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"

namespace tune {
namespace {

constexpr double kHugest = 1e100;  // Its square is a number.

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments MomentsOf(std::span<const double> values) {
  Moments moments;
  for (const double value : values) moments.mean += value / static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += (value - moments.mean) * (value - moments.mean);
  moments.deviation = std::sqrt(sum / static_cast<double>(values.size()));
  return moments;
}

// Yeo and Johnson's bend: linear for power 1, logarithmic upwards for 0.
double Bent(double x, double power) {
  const double sign = x < 0 ? -1 : 1;
  const double exponent = x < 0 ? 2 - power : power;
  const double log = std::log1p(std::abs(x));
  return sign * (std::abs(exponent) < 1e-9 ? log : std::expm1(exponent * log) / exponent);
}

// The other way. What no number is bent to counts as the outermost that is.
double Straight(double y, double power) {
  constexpr double kLeastRest = 1e-12;
  const double sign = y < 0 ? -1 : 1;
  const double exponent = y < 0 ? 2 - power : power;
  if (std::abs(exponent) < 1e-9) return sign * std::expm1(std::abs(y));
  const double rest = std::max(kLeastRest, 1 + exponent * std::abs(y));
  return sign * std::expm1(std::log(rest) / exponent);
}

double LikeliestPower(std::span<const double> standardised) {
  double log_slope = 0;  // Of the bend, for power - 1 = 1.
  for (const double x : standardised) log_slope += std::copysign(std::log1p(std::abs(x)), x);
  std::vector<double> bent(standardised.size());
  const auto log_likelihood = [&](double power) {
    for (size_t i = 0; i < bent.size(); ++i) bent[i] = Bent(standardised[i], power);
    const double deviation = MomentsOf(bent).deviation;
    return (power - 1) * log_slope - static_cast<double>(bent.size()) * std::log(deviation);
  };
  // It has one summit: thirds of the range are thrown away.
  double lo = -2;
  double hi = 4;
  for (int step = 0; step < 16; ++step) {
    const double third = (hi - lo) / 3;
    if (log_likelihood(lo + third) < log_likelihood(hi - third)) {
      lo += third;
    } else {
      hi -= third;
    }
  }
  return (lo + hi) / 2;
}

}  // namespace

LossWarp::LossWarp(std::span<const double> losses, std::optional<double> bound) {
  constexpr double kQuartilesMax = 20;  // Above the third quartile, in distances from the first.
  TUNE_CHECK(!losses.empty());
  std::vector<double> values(losses.begin(), losses.end());
  std::sort(values.begin(), values.end());
  TUNE_CHECK(std::isfinite(values.front()) && std::isfinite(values.back()));
  const double first = values[values.size() / 4];
  const double third = values[values.size() * 3 / 4];
  lowest_ = std::max(values.front(), -kHugest);
  highest_ = std::min(values.back(), kHugest);
  if (third > first) highest_ = std::min(highest_, third + kQuartilesMax * (third - first));
  if (bound) {
    const double beyond = std::max(third - first, *bound - values[values.size() / 2]);
    highest_ = std::max(highest_, std::min(values.back(), *bound + beyond));
  }
  for (double& value : values) value = std::clamp(value, lowest_, highest_);
  const Moments moments = MomentsOf(values);
  mean_ = moments.mean;
  // Equal but for rounding: there is nothing to bend, and no scale.
  if (!(moments.deviation > 1e-14 * std::max(std::abs(lowest_), std::abs(highest_)))) return;
  has_spread_ = true;
  deviation_ = moments.deviation;
  for (double& value : values) value = (value - mean_) / deviation_;
  power_ = LikeliestPower(values);
  // What is beyond the bound is not to be pressed together with it.
  if (bound) power_ = std::max(power_, 1.0);
  for (double& value : values) value = Bent(value, power_);
  const Moments bent = MomentsOf(values);
  bent_mean_ = bent.mean;
  bent_deviation_ = bent.deviation;
}

double LossWarp::Bend(double loss) const {
  return (Bent((loss - mean_) / deviation_, power_) - bent_mean_) / bent_deviation_;
}

double LossWarp::operator()(double loss) const {
  const double seen = Bend(std::min(loss, highest_));
  return seen > -kHugest ? seen : Bend(lowest_);
}

// With the slope of the bend where they are cut off.
double LossWarp::Uncut(double loss) const {
  if (loss <= highest_) return (*this)(loss);
  const double x = (highest_ - mean_) / deviation_;
  const double slope = std::pow(1 + std::abs(x), x < 0 ? 1 - power_ : power_ - 1);
  return Bend(highest_) + slope * (loss - highest_) / deviation_ / bent_deviation_;
}

double LossWarp::LossOf(double seen) const {
  const double standardised = Straight(seen * bent_deviation_ + bent_mean_, power_);
  return standardised * deviation_ + mean_;
}

}  // namespace tune
