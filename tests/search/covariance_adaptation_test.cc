#include "search/covariance_adaptation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace tune {
namespace {

using Eigen::VectorXd;

// Generations until the loss of the mean is below `goal`; -1 where that takes more than `most`.
template <typename Loss>
int64_t GenerationsTo(double goal, int64_t most, CovarianceAdaptation& search, Loss loss) {
  for (int64_t generation = 0; generation < most; ++generation) {
    if (loss(search.mean()) < goal) return generation;
    std::vector<std::pair<double, VectorXd>> drawn;
    for (int64_t i = 0; i < search.population(); ++i) {
      KeyedRandom random(1, "draw", static_cast<uint64_t>(generation), static_cast<uint64_t>(i));
      const VectorXd x = search.Draw(random);
      drawn.emplace_back(loss(x), x);
    }
    std::sort(drawn.begin(), drawn.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<VectorXd> ranked;
    for (const auto& [value, x] : drawn) ranked.push_back(x);
    search.Learn(ranked);
  }
  return -1;
}

TEST(CovarianceAdaptation, ThePopulationGrowsWithTheLogarithmOfTheDimensions) {
  EXPECT_EQ(CovarianceAdaptation::DefaultPopulation(1), 4);
  EXPECT_EQ(CovarianceAdaptation::DefaultPopulation(10), 10);
  EXPECT_EQ(CovarianceAdaptation::DefaultPopulation(100), 17);
}

TEST(CovarianceAdaptation, TheBetterHalfMakesTheMeanByWeightsThatFall) {
  const CovarianceAdaptation search(VectorXd::Zero(3), 1.0, 7);
  double sum = 0;
  for (size_t rank = 0; rank < 7; ++rank) {
    sum += search.WeightOf(rank);
    EXPECT_EQ(search.WeightOf(rank) > 0, rank < 3);
    EXPECT_LE(search.WeightOf(rank), search.WeightOf(rank == 0 ? 0 : rank - 1));
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(CovarianceAdaptation, LearnsAValleyThatLiesAcrossTheAxes) {
  // Conditioned one to a million, in a direction that no axis has.
  const VectorXd across = VectorXd::Ones(5).normalized();
  const auto loss = [&](const VectorXd& x) {
    const double along = x.dot(across);
    return along * along * 1e6 + x.squaredNorm();
  };
  CovarianceAdaptation search(VectorXd::Ones(5), 0.5, 8);
  const int64_t generations = GenerationsTo(1e-9, 400, search, loss);
  EXPECT_GT(generations, 0);
}

TEST(CovarianceAdaptation, StepsGrowWhereTheyPointTheSameWay) {
  CovarianceAdaptation search(VectorXd::Zero(2), 0.01, 6);
  GenerationsTo(-1e300, 40, search, [](const VectorXd& x) { return x[0]; });
  EXPECT_GT(search.DeviationOf(0), 1.0);
}

TEST(CovarianceAdaptation, OnePointFromFarAwayDoesNotThrowItOffItsCourse) {
  CovarianceAdaptation search(VectorXd::Zero(2), 0.1, 4);
  const std::vector<VectorXd> ranked(4, VectorXd::Constant(2, 1e6));
  search.Learn(ranked);
  EXPECT_LT(search.mean().norm(), 1.0);
  EXPECT_GT(search.mean().norm(), 0.01);
}

TEST(CovarianceAdaptation, IsExhaustedOnceItsStepsAreTooSmallToMatter) {
  CovarianceAdaptation search(VectorXd::Ones(2), 0.5, 6);
  const auto sphere = [](const VectorXd& x) { return x.squaredNorm(); };
  EXPECT_FALSE(search.IsExhausted(1e-6));
  GenerationsTo(1e-20, 300, search, sphere);
  EXPECT_TRUE(search.IsExhausted(1e-6));
}

}  // namespace
}  // namespace tune
