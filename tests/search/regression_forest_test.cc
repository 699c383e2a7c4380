#include "search/regression_forest.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tune {
namespace {

struct Sample {
  std::vector<std::vector<double>> points;
  std::vector<double> values;
};

template <typename Function>
Sample Draw(size_t count, size_t dimensions, Function function) {
  Sample sample;
  for (size_t i = 0; i < count; ++i) {
    KeyedRandom random(3, "point", i);
    std::vector<double> point(dimensions);
    for (double& x : point) x = random.NextDouble();
    sample.values.push_back(function(point));
    sample.points.push_back(std::move(point));
  }
  return sample;
}

double Step(const std::vector<double>& x) { return (x[0] < 0.3 ? 5 : 1) + (x[1] < 0.5 ? 1 : 0); }

TEST(RegressionForest, LearnsStepsInSomeOfManyDimensions) {
  const Sample learned = Draw(400, 6, Step);
  const RegressionForest forest(learned.points, learned.values, 1);
  const Sample others = Draw(1000, 6, Step);
  double error = 0;
  for (size_t i = 400; i < 1000; ++i) {
    error += std::fabs(forest.Predict(others.points[i]) - others.values[i]) / 600;
  }
  EXPECT_LT(error, 0.25);  // The mean alone would be off by 1.7.
}

TEST(RegressionForest, NeverPredictsBeyondWhatItHasSeen) {
  const Sample sample = Draw(50, 2, [](const auto& x) { return 10 * x[0] - 3 * x[1]; });
  const RegressionForest forest(sample.points, sample.values, 1);
  for (const double x : {-100.0, 0.5, 100.0}) {
    const double predicted = forest.Predict(std::vector<double>{x, 0.5});
    EXPECT_GE(predicted, -3);
    EXPECT_LE(predicted, 10);
  }
}

TEST(RegressionForest, IsTheSameForTheSameSeed) {
  const Sample sample = Draw(60, 3, Step);
  const std::vector<double> at = {0.31, 0.52, 0.9};
  const double predicted = RegressionForest(sample.points, sample.values, 1).Predict(at);
  EXPECT_EQ(RegressionForest(sample.points, sample.values, 1).Predict(at), predicted);
  EXPECT_NE(RegressionForest(sample.points, sample.values, 2).Predict(at), predicted);
}

TEST(RegressionForest, OfOnePointOrOfEqualOnesKnowsTheMean) {
  const std::vector<std::vector<double>> points = {{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}};
  const std::vector<double> values = {4, 4, 4, 4, 4};
  EXPECT_EQ(RegressionForest(points, values, 1).Predict(points[0]), 4);
  const auto one = std::span(points).first(1);
  EXPECT_EQ(RegressionForest(one, std::span(values).first(1), 1).Predict(points[0]), 4);
}

TEST(RegressionForest, TellsNeighbouringDoublesApart) {
  const double x = 0.5;
  const double next = std::nextafter(x, 1);
  const std::vector<std::vector<double>> points = {{x}, {x}, {x}, {next}, {next}, {next}};
  const std::vector<double> values = {0, 0, 0, 1, 1, 1};
  const RegressionForest forest(points, values, 1, {.trees = 200, .leaf_min = 1});
  EXPECT_LT(forest.Predict(std::vector<double>{x}), 0.1);
  EXPECT_GT(forest.Predict(std::vector<double>{next}), 0.9);
}

}  // namespace
}  // namespace tune
