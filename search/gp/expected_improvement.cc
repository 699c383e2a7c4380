#include "search/gp/expected_improvement.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "search/normal.h"

namespace tune {
namespace {

// h(z) = density(z) + z cdf(z) = E max(z + N(0, 1), 0).
struct LogMean {
  double value = 0;  // log h(z)
  double slope = 0;  // h'(z) / h(z)
};

constexpr double kTail = -3;

LogMean LogMeanNear(double z) {
  const double below = NormalCdf(z);
  const double h = NormalDensity(z) + z * below;
  return {std::log(h), below / h};
}

// h' is the cdf, and h'(-t) / h(-t) = t + 2 / (t + 3 / (t + 4 / ...)): Gautschi's continued
// fraction of the repeated integrals of erfc (Abramowitz and Stegun, 7.2), free of the
// cancellation that the sum above has here. Fifty terms give all digits from t = 3 on. Several
// fractions at a time keep the processor from waiting for each division.
template <size_t kLanes>
std::array<LogMean, kLanes> LogMeansInTail(const std::array<double, kLanes>& z) {
  std::array<double, kLanes> t;
  for (size_t i = 0; i < kLanes; ++i) t[i] = -z[i];
  std::array<double, kLanes> fraction = t;
  for (int term = 50; term >= 2; --term) {
    for (size_t i = 0; i < kLanes; ++i) fraction[i] = t[i] + term / fraction[i];
  }
  std::array<LogMean, kLanes> means;
  for (size_t i = 0; i < kLanes; ++i) {
    means[i] = {LogNormalCdf(z[i]) - std::log(fraction[i]), fraction[i]};
  }
  return means;
}

LogImprovement ImprovementOf(double z, double deviation, const LogMean& h) {
  return {std::log(deviation) + h.value, -h.slope / deviation, (1 - h.slope * z) / deviation};
}

}  // namespace

LogImprovement LogExpectedImprovement(double mean, double deviation, double best) {
  const double z = (best - mean) / deviation;
  return ImprovementOf(z, deviation,
                       z > kTail ? LogMeanNear(z) : LogMeansInTail(std::array<double, 1>{z})[0]);
}

std::vector<LogImprovement> LogExpectedImprovements(double mean, double deviation,
                                                    std::span<const double> bests) {
  constexpr size_t kLanes = 8;
  std::vector<LogImprovement> improvements;
  improvements.reserve(bests.size());
  size_t next = 0;
  while (next < bests.size()) {
    std::array<double, kLanes> z;
    const size_t count = std::min(kLanes, bests.size() - next);
    for (size_t i = 0; i < kLanes; ++i) {
      z[i] = (bests[next + std::min(i, count - 1)] - mean) / deviation;
    }
    if (z[count - 1] > kTail) break;
    const auto h = LogMeansInTail(z);
    for (size_t i = 0; i < count && !(z[i] > kTail); ++i, ++next) {
      improvements.push_back(ImprovementOf(z[i], deviation, h[i]));
    }
  }
  for (; next < bests.size(); ++next) {
    improvements.push_back(LogExpectedImprovement(mean, deviation, bests[next]));
  }
  return improvements;
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
