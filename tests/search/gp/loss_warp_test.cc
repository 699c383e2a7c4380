#include "search/gp/loss_warp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double MeanOf(const LossWarp& warp, const std::vector<double>& losses) {
  double sum = 0;
  for (const double loss : losses) sum += warp(loss);
  return sum / static_cast<double>(losses.size());
}

// 26 trials keep a limit easily and alike, four break it.
TEST(LossWarp, ABoundStaysApartFromWhatIsBeyondItHoweverFar) {
  std::vector<double> margins;
  for (int i = 0; i < 26; ++i) margins.push_back(-0.357 + 0.001 * (i % 13 - 6));
  for (const double broken : {0.57, 0.7, 0.8, 0.86}) margins.push_back(broken);
  margins.push_back(0);
  EXPECT_EQ(LossWarp(margins)(0), LossWarp(margins)(0.57)) << "cut off alike";
  const LossWarp warp(margins, 0);
  EXPECT_GT(warp(0.57), warp(0) + 0.5);
  EXPECT_GT(warp(0), warp(-0.357) + 0.5);
}

TEST(LossWarp, WhatIsSeenIsTheLossAgain) {
  const std::vector<double> losses = {0.5, 0.1, 3, 20, 0.7, 1.5, 100, 0.2};
  const LossWarp warp(losses);
  for (const double loss : {0.05, 0.1, 0.7, 3.0, 19.0}) {
    EXPECT_NEAR(warp.LossOf(warp(loss)), loss, 1e-9 * (1 + loss));
  }
}

TEST(LossWarp, ABoundBeyondWhatWasSeenIsNotCutOff) {
  const std::vector<double> losses = {0.5, 0.1, 3, 20, 0.7, 1.5, 100, 0.2};
  const LossWarp warp(losses);
  for (const double loss : {0.05, 0.7, 20.0, 100.0}) EXPECT_EQ(warp.Uncut(loss), warp(loss));
  EXPECT_EQ(warp(200), warp(100));
  const double first = warp.Uncut(200) - warp.Uncut(100);
  EXPECT_GT(first, 0);
  EXPECT_NEAR(warp.Uncut(300) - warp.Uncut(200), first, 1e-9);
  // As steep as the bend is where it ends.
  EXPECT_NEAR(warp.Uncut(100) - warp.Uncut(99), first / 100, 1e-4);
  const LossWarp same(std::vector<double>{2, 2});
  EXPECT_EQ(same.Uncut(5), 3);
}

TEST(LossWarp, StandardisesAndKeepsTheOrder) {
  const std::vector<double> losses = {0.5, 0.1, 3, 20, 0.7, 1.5, 100, 0.2};
  const LossWarp warp(losses);
  double squares = 0;
  for (const double loss : losses) squares += warp(loss) * warp(loss) / 8;
  EXPECT_NEAR(MeanOf(warp, losses), 0, 1e-12);
  EXPECT_NEAR(squares, 1, 1e-12);
  EXPECT_LT(warp(0.05), warp(0.1));  // Better than any before.
  EXPECT_LT(warp(0.1), warp(0.2));
  EXPECT_LT(warp(20), warp(100));
}

TEST(LossWarp, SpreadsTheGoodOnesOfASkewedSample) {
  std::vector<double> losses;
  for (int i = 0; i < 50; ++i) losses.push_back(std::exp(0.2 * i));  // Log-uniform.
  const LossWarp warp(losses);
  // Standardised alone the best ten would lie within (e^2 - 1) / (e^9.8 - 1) = 0.00035 of the whole
  // range.
  EXPECT_GT((warp(losses[10]) - warp(losses[0])) / (warp(losses[49]) - warp(losses[0])), 0.003);
}

TEST(LossWarp, OneThatBlewUpDoesNotFlattenTheOthers) {
  std::vector<double> losses = {1, 2, 3, 4, 5, 6, 7, 8, 1e30};
  const LossWarp warp(losses);
  EXPECT_GT(warp(2) - warp(1), 0.1);
  EXPECT_EQ(warp(1e30), warp(1e200));
  EXPECT_GT(warp(1e30), warp(8));
}

TEST(LossWarp, InfiniteLossesCountAsTheEndsOfWhatItSaw) {
  const LossWarp warp(std::vector<double>{1, 2, 4});
  EXPECT_EQ(warp(kInfinity), warp(4));
  EXPECT_EQ(warp(-kInfinity), warp(1));
}

// The least number there is, in a trial that ended after the warp was made.
TEST(LossWarp, LossThatIsAsGoodAsMinusInfinityCountsAsTheBest) {
  const LossWarp warp(std::vector<double>{-1.5, -1, -1, -0.9, 0.8, 2});
  EXPECT_EQ(warp(std::numeric_limits<double>::lowest()), warp(-1.5));
  EXPECT_LT(warp(-3), warp(-1.5));
}

TEST(LossWarp, GivesNumbersForEveryKindOfSample) {
  const double greatest = std::numeric_limits<double>::max();
  for (const std::vector<double>& losses : std::vector<std::vector<double>>{{0},
                                                                            {5, 5, 5},
                                                                            {0.1 + 0.2, 0.3, 0.3},
                                                                            {-greatest, greatest},
                                                                            {1e-320, 0},
                                                                            {0, 0, 0, 1}}) {
    const LossWarp warp(losses);
    for (const double loss : losses) EXPECT_TRUE(std::isfinite(warp(loss))) << losses[0];
    EXPECT_LE(warp(losses[0]), warp(kInfinity));
  }
}

}  // namespace
}  // namespace tune
