#include "search/dependence_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "core/random.h"

namespace tune {
namespace {

constexpr size_t kSweeps = 400;
constexpr size_t kUniforms = 4;  // Then a choice of three and an integer of four.
constexpr size_t kChoice = 4;
constexpr size_t kParameters = 6;

// Of a configuration's numbers.
using Effect = std::function<double(const std::vector<double>&)>;

struct Calls {
  size_t right = 0;  // Sweeps whose parameter `cause` is called clear,
  size_t wrong = 0;  // and those where any other one is.
};

// Random sweeps whose losses are the effect, of deviation 1, and noise.
Calls CallsOf(size_t trials, size_t cause, double noise, const Effect& effect) {
  Calls calls;
  for (size_t sweep = 0; sweep < kSweeps; ++sweep) {
    KeyedRandom random(1, "sweep", sweep);
    std::vector<ParameterValues> parameters(kParameters);
    std::vector<double> losses;
    for (size_t i = 0; i < trials; ++i) {
      std::vector<double> drawn;
      for (size_t d = 0; d < kUniforms; ++d) drawn.push_back(random.NextDouble());
      drawn.push_back(static_cast<double>(random.NextBelow(3)));
      drawn.push_back(static_cast<double>(random.NextBelow(4)));
      losses.push_back(effect(drawn) + noise * random.NextNormal());
      for (size_t d = 0; d < kParameters; ++d) parameters[d].values.emplace_back(drawn[d]);
    }
    std::vector<double> p_values;
    for (size_t d = 0; d < kParameters; ++d) {
      parameters[d].is_ordered = d != kChoice;
      p_values.push_back(DependencePValue(parameters[d], losses, DealsFor(kParameters)));
    }
    const std::vector<bool> clear = ClearByHolm(p_values);
    bool is_any_wrong = false;
    for (size_t d = 0; d < kParameters; ++d) {
      if (d == cause) calls.right += clear[d] ? 1 : 0;
      if (d != cause) is_any_wrong = is_any_wrong || clear[d];
    }
    calls.wrong += is_any_wrong ? 1 : 0;
  }
  return calls;
}

constexpr double kNoise = 0.5;  // A fifth of the losses' variance is noise.
double Line(const std::vector<double>& x) { return x[0] * std::sqrt(12.0); }
double Bowl(const std::vector<double>& x) { return (x[0] - 0.5) * (x[0] - 0.5) * std::sqrt(180.0); }
double OneOfThree(const std::vector<double>& x) {
  return x[kChoice] == 1 ? 3 / std::numbers::sqrt2 : 0;
}

TEST(Dependence, FewSweepsWithoutAnyHaveAParameterThatIsCalledClear) {
  for (const size_t trials : {10, 14, 20, 40}) {
    const Calls calls = CallsOf(trials, kParameters, 1, [](const auto&) { return 0.0; });
    // One in 20 is 20 of 400; two deviations of that are 9.
    EXPECT_LE(calls.wrong, 29u) << trials;
  }
}

TEST(Dependence, WhatMattersIsCalledClearFromADozenTrialsOn) {
  const auto share = [](size_t trials, size_t cause, const Effect& effect) {
    const Calls calls = CallsOf(trials, cause, kNoise, effect);
    EXPECT_LE(calls.wrong, 29u);
    return static_cast<double>(calls.right) / kSweeps;
  };
  EXPECT_GT(share(14, 0, Line), 0.85);
  EXPECT_GT(share(14, 0, Bowl), 0.6);
  EXPECT_GT(share(14, kChoice, OneOfThree), 0.5);
  EXPECT_GT(share(20, 0, Line), 0.95);
  EXPECT_GT(share(20, 0, Bowl), 0.95);
  EXPECT_GT(share(20, kChoice, OneOfThree), 0.75);
}

TEST(Dependence, AnyShapeIsCalledClearAmongMoreTrials) {
  const Calls calls = CallsOf(40, 0, kNoise, [](const std::vector<double>& x) {
    return std::sin(3 * std::numbers::pi * x[0]) * std::numbers::sqrt2;
  });
  EXPECT_GT(calls.right, kSweeps * 9 / 10);
}

TEST(Dependence, AParameterThatMostTrialsDoNotHaveCounts) {
  ParameterValues sometimes{{}, true};
  std::vector<double> losses;
  for (size_t i = 0; i < 40; ++i) {
    const double x = KeyedRandom(3, "x", i).NextDouble();
    const bool has = i % 2 == 0;
    sometimes.values.push_back(has ? std::optional(x) : std::nullopt);
    losses.push_back(has ? x : 0.5);
  }
  EXPECT_LT(DependencePValue(sometimes, losses, 1999), 0.005);
}

TEST(Dependence, NothingDependsOnWhatIsAlwaysTheSame) {
  const std::vector<double> rising = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (const bool is_ordered : {false, true}) {
    const ParameterValues constant{std::vector<std::optional<double>>(10, 0.5), is_ordered};
    EXPECT_EQ(DependencePValue(constant, rising, 1999), 1);
  }
  ParameterValues line{{}, true};
  for (const double x : rising) line.values.emplace_back(x);
  EXPECT_EQ(DependencePValue(line, std::vector<double>(10, 3.0), 1999), 1);
}

TEST(Dependence, HolmAsksLessOfEachFurtherParameter) {
  EXPECT_EQ(ClearByHolm({0.02, 0.016, 0.3}), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(ClearByHolm({0.02, 0.018, 0.3}), (std::vector<bool>{false, false, false}));
  EXPECT_TRUE(ClearByHolm({}).empty());
  EXPECT_LE(1.0 / static_cast<double>(DealsFor(1000) + 1), 0.05 / 1000);
}

}  // namespace
}  // namespace tune
