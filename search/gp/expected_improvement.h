// Expected improvement below the best value so far, as its logarithm, which still has a slope where
// the improvement itself has long vanished (Ament, Daulton, Eriksson, Balandat, Bakshy, "Unexpected
// Improvements to Expected Improvement for Bayesian Optimization", NeurIPS 2023).
//
// Thread rule: pure functions.
#pragma once

namespace tune {

struct LogImprovement {
  double value = 0;
  double by_mean = 0;  // Derivatives.
  double by_deviation = 0;
};

// log E max(best - Y, 0) of Y ~ N(mean, deviation^2). Requires deviation > 0.
LogImprovement LogExpectedImprovement(double mean, double deviation, double best);

}  // namespace tune
