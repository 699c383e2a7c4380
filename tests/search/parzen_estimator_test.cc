#include "search/parzen_estimator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/json.h"
#include "search/fast_exp.h"
#include "search/normal.h"

namespace tune {
namespace {

ParzenAxes Axes(const char* space) {
  const Result<SearchSpace> parsed = SearchSpace::Parse(*ParseJson(space));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return ParzenAxes(UnitSpace(*parsed));
}

std::vector<size_t> AllOf(const ParzenAxes& axes) {
  std::vector<size_t> dimensions(axes.size());
  for (size_t d = 0; d < dimensions.size(); ++d) dimensions[d] = d;
  return dimensions;
}

ParzenPoint At(const ParzenAxes& axes, const std::vector<double>& x) {
  ParzenPoint point(axes.size());
  for (size_t d = 0; d < axes.size(); ++d) {
    point[d].x = x[d];
    if (!point[d].is_missing()) axes.Snap(d, point[d]);
  }
  return point;
}

double Density(ParzenEstimator& estimator, const ParzenPoint& point) {
  return std::exp(estimator.LogDensities({&point, 1})[0]);
}

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

TEST(FastExp, IsTheExponential) {
  for (double x = -707.9; x < 708; x += 0.0371) {
    EXPECT_NEAR(FastExp(x) / std::exp(x), 1, 1e-11) << x;
  }
  EXPECT_EQ(FastExp(0), 1);
  EXPECT_EQ(FastExp(-1e300), FastExp(-708));
}

TEST(ParzenEstimator, ADensityIntegratesToOneOverALineStepsAndAChoice) {
  const ParzenAxes axes = Axes(
      R"({"x": {"uniform": [0, 1]}, "n": {"randint": [0, 7]},
          "c": {"choice": ["a", "b", "c"], "weights": [1, 2, 5]}})");
  ParzenEstimator estimator(axes, AllOf(axes), 0.5);
  estimator.Add(At(axes, {0.02, 0.9, 0.05}), 1);
  estimator.Add(At(axes, {0.6, 0.1, 0.9}), 2);
  estimator.Add(At(axes, {0.63, 0.2, 0.9}), 0.25);
  estimator.FitWidths(0.5);
  // Relative to the prior, so each point counts for the length of its cell.
  double integral = 0;
  constexpr int kSlices = 200;
  for (int i = 0; i < kSlices; ++i) {
    for (const UnitCell& n : axes.cells(1)) {
      for (const UnitCell& c : axes.cells(2)) {
        integral += Density(estimator, At(axes, {(i + 0.5) / kSlices, n.mid(), c.mid()})) *
                    (n.hi - n.lo) * (c.hi - c.lo) / kSlices;
      }
    }
  }
  EXPECT_NEAR(integral, 1, 1e-4);
}

TEST(ParzenEstimator, DrawsComeAsOftenAsTheDensitySays) {
  const ParzenAxes axes = Axes(R"({"n": {"randint": [0, 5]}, "c": {"choice": ["a", "b", "c"]}})");
  ParzenEstimator estimator(axes, AllOf(axes), 1);
  estimator.Add(At(axes, {0.1, 0.9}), 1);
  estimator.Add(At(axes, {0.9, 0.1}), 3);
  estimator.FitWidths(0.7);
  std::vector<int> counts(15, 0);
  constexpr int kDraws = 30000;
  KeyedRandom random(1, "test");
  for (int i = 0; i < kDraws; ++i) {
    ParzenPoint point = At(axes, {0, 0});
    estimator.Draw(random, point);
    ++counts[static_cast<size_t>(point[0].cell * 3 + point[1].cell)];
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    const ParzenPoint point = At(axes, {axes.cells(0)[i / 3].mid(), axes.cells(1)[i % 3].mid()});
    const double expected = kDraws * Density(estimator, point) / 15;
    EXPECT_NEAR(counts[i], expected, 5 * std::sqrt(expected)) << i;
  }
}

TEST(ParzenEstimator, DrawsWithAFixedValueAreThoseAmongAllThatHaveIt) {
  const ParzenAxes axes = Axes(R"({"c": {"choice": ["a", "b", "c"]}, "n": {"randint": [0, 5]}})");
  ParzenEstimator estimator(axes, AllOf(axes), 0.5);
  estimator.Add(At(axes, {0.1, 0.9}), 1);
  estimator.Add(At(axes, {0.9, 0.1}), 3);
  estimator.FitWidths(0.5);
  const ParzenPoint fixed = At(axes, {0.1, 0.5});
  std::vector<double> expected;
  double sum = 0;
  for (const UnitCell& n : axes.cells(1)) {
    expected.push_back(Density(estimator, At(axes, {0.1, n.mid()})));
    sum += expected.back();
  }
  estimator.Fix(0, fixed[0]);
  std::vector<int> counts(5, 0);
  constexpr int kDraws = 20000;
  KeyedRandom random(1, "test");
  for (int i = 0; i < kDraws; ++i) {
    ParzenPoint point = At(axes, {0.5, 0.5});
    estimator.Draw(random, point);
    ASSERT_EQ(point[0].cell, fixed[0].cell);
    ++counts[static_cast<size_t>(point[1].cell)];
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    const double mean = kDraws * expected[i] / sum;
    EXPECT_NEAR(counts[i], mean, 5 * std::sqrt(mean)) << i;
  }
}

TEST(ParzenEstimator, ManyKernelsAreSummedAsOneByOne) {
  const ParzenAxes axes = Axes(R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})");
  ParzenEstimator estimator(axes, AllOf(axes), 1);
  constexpr size_t kKernels = 301;  // Not a multiple of anything.
  std::vector<ParzenPoint> centres;
  KeyedRandom random(1, "test");
  double mean = 0;
  double squares = 0;
  for (size_t k = 0; k < kKernels; ++k) {
    centres.push_back(At(axes, {random.NextDouble(), 0.25}));
    estimator.Add(centres.back(), 1);
    mean += centres.back()[0].x;
    squares += centres.back()[0].x * centres.back()[0].x;
  }
  estimator.FitWidths(1);
  // The widths that FitWidths documents, the prior (mean 1/2, variance 1/12) being one of 302.
  mean = (mean + 0.5) / 302;
  const double x_deviation = std::sqrt((squares + 0.25 + 1.0 / 12) / 302 - mean * mean);
  const double y_mean = (301 * 0.25 + 0.5) / 302;
  const double y_deviation = std::sqrt((301 * 0.0625 + 0.25 + 1.0 / 12) / 302 - y_mean * y_mean);
  const double shrinking = std::pow(301, -1.0 / 6);
  const auto kernel = [&](double x, double centre, double width) {
    const double mass = NormalCdf((1 - centre) / width) - NormalCdf(-centre / width);
    return NormalDensity((x - centre) / width) / width / mass;
  };
  double sum = 1;
  for (const ParzenPoint& centre : centres) {
    sum += kernel(0.4, centre[0].x, x_deviation * shrinking) *
           kernel(0.3, 0.25, y_deviation * shrinking);
  }
  // Widths come in steps of 2 %.
  EXPECT_NEAR(Density(estimator, At(axes, {0.4, 0.3})) / (sum / 302), 1, 0.04);
}

TEST(ParzenEstimator, AKernelKnowsNothingOfAParameterThatItDoesNotHave) {
  const ParzenAxes axes =
      Axes(R"({"kind": {"choice": ["a", "b"]}, "x": {"uniform": [0, 1], "when": {"kind": "a"}},
               "n": {"randint": [0, 4], "when": {"kind": "b"}}})");
  ParzenEstimator estimator(axes, AllOf(axes), 1);
  estimator.Add(At(axes, {0.25, 0.5, kMissing}), 1);
  estimator.Add(At(axes, {0.75, kMissing, 0.1}), 1);
  estimator.FitWidths(0.3);
  double integral = 0;
  constexpr int kSlices = 200;
  for (int i = 0; i < kSlices; ++i) {
    const ParzenPoint a = At(axes, {0.25, (i + 0.5) / kSlices, kMissing});
    const ParzenPoint b = At(axes, {0.75, kMissing, (i + 0.5) / kSlices});
    integral += (Density(estimator, a) + Density(estimator, b)) / 2 / kSlices;
  }
  EXPECT_NEAR(integral, 1, 1e-4);
  // Far from the only kernel with an x, that kernel is no more; the other one is flat.
  EXPECT_GT(Density(estimator, At(axes, {0.25, 0.5, kMissing})),
            2 * Density(estimator, At(axes, {0.25, 0.02, kMissing})));
}

TEST(ParzenEstimator, AKernelWithoutWeightChangesNothing) {
  const ParzenAxes axes = Axes(R"({"x": {"uniform": [0, 1]}})");
  ParzenEstimator one(axes, {0}, 1);
  ParzenEstimator two(axes, {0}, 1);
  one.Add(At(axes, {0.3}), 1);
  two.Add(At(axes, {0.8}), 1);
  two.Add(At(axes, {0.3}), 1);
  two.SetWeight(0, 0);
  one.FitWidths(0.5);
  two.FitWidths(0.5);
  EXPECT_DOUBLE_EQ(Density(one, At(axes, {0.6})), Density(two, At(axes, {0.6})));
}

TEST(ParzenEstimator, WithoutKernelsItIsThePrior) {
  const ParzenAxes axes = Axes(R"({"x": {"loguniform": [1, 10]}, "n": {"lograndint": [1, 9]}})");
  ParzenEstimator estimator(axes, AllOf(axes), 2);
  estimator.FitWidths(0.5);
  EXPECT_DOUBLE_EQ(Density(estimator, At(axes, {0.1, 0.9})), 1);
}

TEST(ParzenAxes, ManyOrderedValuesAreALineWhoseDrawsAreValues) {
  const ParzenAxes axes = Axes(R"({"n": {"randint": [0, 1000]}, "m": {"randint": [0, 64]}})");
  EXPECT_EQ(axes.kind(0), ParzenAxes::Kind::kLine);
  EXPECT_EQ(axes.kind(1), ParzenAxes::Kind::kSteps);
  const ParzenPoint point = At(axes, {0.12345, 0.12345});
  EXPECT_DOUBLE_EQ(point[0].x, 0.1235);  // The middle of 123's cell.
  EXPECT_EQ(point[1].cell, 7);
}

}  // namespace
}  // namespace tune
