#include "search/cell_margin.h"

#include <gtest/gtest.h>

#include "search/normal.h"

namespace tune {
namespace {

double Below(const CellMargin& kept, double x) {
  return NormalCdf((x - kept.mean) / kept.deviation);
}
double Above(const CellMargin& kept, double x) {
  return NormalCdf((kept.mean - x) / kept.deviation);
}

TEST(CellMargin, WhatLeavesTheCellOftenEnoughStaysAsItIs) {
  const CellMargin kept = WithMargin(0.5, 0.2, {0.4, 0.6}, 0.1);
  EXPECT_EQ(kept.mean, 0.5);
  EXPECT_EQ(kept.deviation, 0.2);
}

TEST(CellMargin, ANarrowDistributionKeepsHalfTheMarginOnEachSide) {
  const CellMargin kept = WithMargin(0.45, 1e-6, {0.4, 0.6}, 0.1);
  EXPECT_NEAR(Below(kept, 0.4), 0.05, 1e-12);
  EXPECT_NEAR(Above(kept, 0.6), 0.05, 1e-12);
}

TEST(CellMargin, TheSideThatHasEnoughGivesUpWhatTheOtherGains) {
  // 0.1587 below, nothing above.
  const CellMargin kept = WithMargin(0.41, 0.01, {0.4, 0.6}, 0.1);
  EXPECT_NEAR(Above(kept, 0.6), 0.05, 1e-12);
  EXPECT_GT(Below(kept, 0.4), 0.12);
  EXPECT_LT(Below(kept, 0.4), 0.1587);
}

TEST(CellMargin, AtAnEndTheMeanMovesTowardsTheOnlyNeighbour) {
  const CellMargin first = WithMargin(0.05, 0.01, {0.0, 0.25}, 0.1);
  EXPECT_EQ(first.deviation, 0.01);
  EXPECT_NEAR(Above(first, 0.25), 0.1, 1e-12);
  const CellMargin last = WithMargin(1.2, 0.01, {0.75, 1.0}, 0.1);
  EXPECT_NEAR(Below(last, 0.75), 0.1, 1e-12);
  EXPECT_EQ(WithMargin(0.2, 0.2, {0.0, 0.25}, 0.1).mean, 0.2);
}

TEST(CellMargin, AnOnlyCellHasNoNeighbour) {
  EXPECT_EQ(WithMargin(0.5, 1e-9, {0.0, 1.0}, 0.1).mean, 0.5);
}

}  // namespace
}  // namespace tune
