#include "search/gp/expected_improvement.h"

#include <cmath>

#include "search/normal.h"

namespace tune {
namespace {

// h(z) = density(z) + z cdf(z) = E max(z + N(0, 1), 0).
struct LogMean {
  double value = 0;  // log h(z)
  double slope = 0;  // h'(z) / h(z)
};

LogMean LogMeanAboveZero(double z) {
  constexpr double kTail = -3;
  if (z > kTail) {
    const double below = NormalCdf(z);
    const double h = NormalDensity(z) + z * below;
    return {std::log(h), below / h};
  }
  // h' is the cdf, and h'(-t) / h(-t) = t + 2 / (t + 3 / (t + 4 / ...)): Gautschi's continued
  // fraction of the repeated integrals of erfc (Abramowitz and Stegun, 7.2), free of the
  // cancellation that the sum above has here. Fifty terms give all digits from t = 3 on.
  const double t = -z;
  double fraction = t;
  for (int term = 50; term >= 2; --term) fraction = t + term / fraction;
  return {LogNormalCdf(z) - std::log(fraction), fraction};
}

}  // namespace

LogImprovement LogExpectedImprovement(double mean, double deviation, double best) {
  const double z = (best - mean) / deviation;
  const LogMean h = LogMeanAboveZero(z);
  return {std::log(deviation) + h.value, -h.slope / deviation, (1 - h.slope * z) / deviation};
}

LogImprovement LogAugmentedImprovement(double mean, double deviation, double best, double noise) {
  LogImprovement gain = LogExpectedImprovement(mean, deviation, best);
  if (noise == 0) return gain;
  // 1 - t / seen is deviation^2 / (seen (seen + t)), which does not cancel.
  const double t = std::sqrt(noise);
  const double seen = std::sqrt(deviation * deviation + noise);
  gain.value += 2 * std::log(deviation) - std::log(seen) - std::log(seen + t);
  gain.by_deviation += 2 / deviation - deviation / (seen * seen) - deviation / (seen * (seen + t));
  return gain;
}

}  // namespace tune
