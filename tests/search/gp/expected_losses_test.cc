#include "search/gp/expected_losses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/json.h"
#include "core/random.h"

namespace tune {
namespace {

SearchSpace Space(const char* text) { return *SearchSpace::Parse(*ParseJson(text)); }

constexpr char kLine[] = R"({"x": {"uniform": [0, 1]}})";

Configuration At(double x) {
  Configuration configuration;
  configuration.Set("x", Value(x));
  return configuration;
}

double Truth(double x) { return (x - 0.3) * (x - 0.3); }

struct Tried {
  std::vector<Configuration> configurations;
  std::vector<double> losses;
  std::vector<double> truths;
};

// `noise`: the deviation of each result.
Tried Try(double noise, uint64_t seed) {
  Tried tried;
  KeyedRandom random(seed, "tried");
  for (int i = 0; i < 40; ++i) {
    const double x = random.NextDouble();
    tried.configurations.push_back(At(x));
    tried.truths.push_back(Truth(x));
    tried.losses.push_back(Truth(x) + noise * random.NextNormal());
  }
  return tried;
}

// The truth at the one that it calls best.
template <typename Of>
double TruthOfLeast(const Tried& tried, size_t count, const Of& of) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) best = of(i) < of(best) ? i : best;
  return tried.truths[best];
}

TEST(ExpectedLosses, UnderNoiseWhatIsExpectedIsBetterThanWhatWasLucky) {
  double lucky = 0;
  double expected = 0;
  int wins = 0;
  int losses = 0;
  for (uint64_t seed = 1001; seed <= 1200; ++seed) {
    const Tried tried = Try(0.1, seed);
    const auto told = ExpectedLosses(Space(kLine), tried.configurations, tried.losses);
    ASSERT_EQ(told.size(), 40u);
    const double by_luck = TruthOfLeast(tried, 40, [&](size_t i) { return tried.losses[i]; });
    const double by_model = TruthOfLeast(tried, 40, [&](size_t i) { return told[i].middle; });
    lucky += by_luck;
    expected += by_model;
    wins += by_model < by_luck ? 1 : 0;
    losses += by_model > by_luck ? 1 : 0;
  }
  EXPECT_LT(expected, lucky);
  EXPECT_GT(wins, losses);
}

TEST(ExpectedLosses, TheBoundsHoldTheTruthAboutTwoOfThreeTimes) {
  int within = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Tried tried = Try(0.1, seed);
    const auto told = ExpectedLosses(Space(kLine), tried.configurations, tried.losses);
    for (size_t i = 0; i < told.size(); ++i) {
      EXPECT_LE(told[i].low, told[i].middle);
      EXPECT_LE(told[i].middle, told[i].high);
      within += told[i].low <= tried.truths[i] && tried.truths[i] <= told[i].high ? 1 : 0;
    }
  }
  EXPECT_GT(within, 20 * 40 * 45 / 100);
  EXPECT_LT(within, 20 * 40 * 95 / 100);
}

TEST(ExpectedLosses, WithoutNoiseTheBestResultIsBest) {
  const Tried tried = Try(0, 3);
  const auto told = ExpectedLosses(Space(kLine), tried.configurations, tried.losses);
  EXPECT_EQ(TruthOfLeast(tried, 40, [&](size_t i) { return told[i].middle; }),
            *std::min_element(tried.truths.begin(), tried.truths.end()));
}

TEST(ExpectedLosses, RunsOfOneConfigurationAreExpectedToComeToTheSame) {
  Tried tried = Try(0.05, 5);
  for (size_t i = 0; i < 10; ++i) tried.configurations[i] = At(0.5);
  const auto told = ExpectedLosses(Space(kLine), tried.configurations, tried.losses);
  for (size_t i = 1; i < 10; ++i) EXPECT_NEAR(told[i].middle, told[0].middle, 1e-9);
}

TEST(ExpectedLosses, OfEqualResultsNothingBetterIsExpected) {
  Tried tried = Try(0, 1);
  tried.losses.assign(40, 0.25);
  for (const ExpectedLoss& told :
       ExpectedLosses(Space(kLine), tried.configurations, tried.losses)) {
    EXPECT_NEAR(told.middle, 0.25, 1e-6);
  }
}

}  // namespace
}  // namespace tune
