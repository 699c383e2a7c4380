#include "search/gp/expected_improvement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tune {
namespace {

// E max(best - Y, 0) by the midpoint rule, over where the density is worth a look.
double Integral(double mean, double deviation, double best) {
  constexpr int kSteps = 400'000;
  const double lo = mean - 12 * deviation;
  const double step = (best - lo) / kSteps;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double y = lo + (i + 0.5) * step;
    const double z = (y - mean) / deviation;
    sum += (best - y) * std::exp(-z * z / 2) / std::sqrt(2 * M_PI) / deviation * step;
  }
  return sum;
}

TEST(ExpectedImprovement, IsTheLogarithmOfTheIntegral) {
  for (const double mean : {-3.0, -0.5, 0.0, 1.0, 2.5, 5.0, 6.1, 7.0}) {
    EXPECT_NEAR(LogExpectedImprovement(mean, 2, 0).value, std::log(Integral(mean, 2, 0)), 1e-6)
        << mean;
  }
  // Three deviations away, where the formula changes.
  EXPECT_NEAR(LogExpectedImprovement(2.9999, 1, 0).value,
              LogExpectedImprovement(3.0001, 1, 0).value, 1e-3);
}

TEST(ExpectedImprovement, OfManyBestsIsThatOfEachToTheLastBit) {
  std::vector<double> bests;
  for (int i = 0; i < 29; ++i) {
    bests.push_back(-60 + 2.3 * i);
    const auto improvements = LogExpectedImprovements(-3, 1.7, bests);
    ASSERT_EQ(improvements.size(), bests.size());
    for (size_t k = 0; k < bests.size(); ++k) {
      const LogImprovement one = LogExpectedImprovement(-3, 1.7, bests[k]);
      EXPECT_EQ(improvements[k].value, one.value) << bests[k];
      EXPECT_EQ(improvements[k].by_mean, one.by_mean) << bests[k];
      EXPECT_EQ(improvements[k].by_deviation, one.by_deviation) << bests[k];
    }
  }
  EXPECT_TRUE(LogExpectedImprovements(0, 1, {}).empty());
}

// Far out E = deviation * density(z) / z^2, nearly.
TEST(ExpectedImprovement, IsFiniteWhereTheImprovementItselfIsNoNumber) {
  const LogImprovement far = LogExpectedImprovement(1000, 1, 0);
  EXPECT_NEAR(far.value, -500'000 - 0.5 * std::log(2 * M_PI) - 2 * std::log(1000.0), 1e-5);
  EXPECT_NEAR(far.by_mean, -1000.002, 1e-5);
  EXPECT_TRUE(std::isfinite(LogExpectedImprovement(-1000, 1, 0).value));
  EXPECT_TRUE(std::isfinite(LogExpectedImprovement(1, 1e-6, 0).value));
}

TEST(ExpectedImprovement, ItsDerivativesAreThoseOfFiniteDifferences) {
  constexpr double kStep = 1e-5;
  for (const double mean : {-2.0, 0.3, 2.5, 4.0, 30.0}) {
    const LogImprovement at = LogExpectedImprovement(mean, 0.8, 0.1);
    const double by_mean = LogExpectedImprovement(mean + kStep, 0.8, 0.1).value -
                           LogExpectedImprovement(mean - kStep, 0.8, 0.1).value;
    const double by_deviation = LogExpectedImprovement(mean, 0.8 + kStep, 0.1).value -
                                LogExpectedImprovement(mean, 0.8 - kStep, 0.1).value;
    EXPECT_NEAR(at.by_mean / (by_mean / (2 * kStep)), 1, 1e-6) << mean;
    EXPECT_NEAR(at.by_deviation / (by_deviation / (2 * kStep)), 1, 1e-6) << mean;
  }
}

// With deviation 0.8 and noise 0.36 one look leaves 1 - 0.6 / sqrt(0.64 + 0.36) = 0.4 of it.
TEST(AugmentedImprovement, CountsByTheShareThatOneMoreLookTakesAway) {
  const double plain = LogExpectedImprovement(0.3, 0.8, 0.1).value;
  EXPECT_NEAR(LogAugmentedImprovement(0.3, 0.8, 0.1, 0.36).value, plain + std::log(0.4), 1e-12);
  EXPECT_EQ(LogAugmentedImprovement(0.3, 0.8, 0.1, 0).value, plain);
  // What is known well is worth little, without cancellation: 1 - 1 / sqrt(1 + 1e-18) = 5e-19.
  EXPECT_NEAR(LogAugmentedImprovement(0, 1e-9, 0, 1).value,
              LogExpectedImprovement(0, 1e-9, 0).value + std::log(5e-19), 1e-9);
}

TEST(AugmentedImprovement, ItsDerivativesAreThoseOfFiniteDifferences) {
  constexpr double kStep = 1e-5;
  for (const double noise : {0.0, 0.01, 0.5, 20.0}) {
    const LogImprovement at = LogAugmentedImprovement(0.3, 0.8, 0.1, noise);
    const double by_mean = LogAugmentedImprovement(0.3 + kStep, 0.8, 0.1, noise).value -
                           LogAugmentedImprovement(0.3 - kStep, 0.8, 0.1, noise).value;
    const double by_deviation = LogAugmentedImprovement(0.3, 0.8 + kStep, 0.1, noise).value -
                                LogAugmentedImprovement(0.3, 0.8 - kStep, 0.1, noise).value;
    EXPECT_NEAR(at.by_mean / (by_mean / (2 * kStep)), 1, 1e-6) << noise;
    EXPECT_NEAR(at.by_deviation / (by_deviation / (2 * kStep)), 1, 1e-6) << noise;
  }
}

}  // namespace
}  // namespace tune
