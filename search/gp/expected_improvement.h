// Expected improvement below the best value so far, as its logarithm, which still has a slope where
// the improvement itself has long vanished (Ament, Daulton, Eriksson, Balandat, Bakshy, "Unexpected
// Improvements to Expected Improvement for Bayesian Optimization", NeurIPS 2023).
//
// Where what is seen is noisy, a point that is known as well as the noise lets it be has little to
// tell, however good it is: improvement then counts by the share of the deviation that one more
// look would take away ("augmented" expected improvement: Huang, Allen, Notz, Zeng, "Global
// Optimization of Stochastic Black-Box Systems via Sequential Kriging Meta-Models", J. Global
// Optimization 34, 2006, equation 12).
//
// Thread rule: pure functions.
#pragma once

#include <span>
#include <vector>

namespace tune {

struct LogImprovement {
  double value = 0;
  double by_mean = 0;  // Derivatives.
  double by_deviation = 0;
};

// log E max(best - Y, 0) of Y ~ N(mean, deviation^2). Requires deviation > 0.
LogImprovement LogExpectedImprovement(double mean, double deviation, double best);

// The same of each of `bests`, which rise, to the last bit.
std::vector<LogImprovement> LogExpectedImprovements(double mean, double deviation,
                                                    std::span<const double> bests);

// LogExpectedImprovement and log(1 - t / sqrt(deviation^2 + t^2)), where t^2 is `noise`, the
// variance of a look. Without noise nothing is added.
LogImprovement LogAugmentedImprovement(double mean, double deviation, double best, double noise);

}  // namespace tune
