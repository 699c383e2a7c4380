#include "search/pareto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace tune {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

std::vector<LossPoint> RandomPoints(uint64_t seed, size_t count, size_t objectives, uint64_t grid) {
  KeyedRandom random(seed, "points");
  std::vector<LossPoint> points(count);
  for (LossPoint& point : points) {
    for (size_t i = 0; i < objectives; ++i) {
      point.push_back(static_cast<double>(random.NextBelow(grid)) / static_cast<double>(grid));
    }
  }
  return points;
}

// Fronts by their definition: peel off what nothing left dominates.
std::vector<size_t> PeeledRanks(const std::vector<LossPoint>& points) {
  std::vector<size_t> ranks(points.size());
  std::vector<size_t> left(points.size());
  for (size_t i = 0; i < points.size(); ++i) left[i] = i;
  for (size_t rank = 0; !left.empty(); ++rank) {
    std::vector<size_t> rest;
    for (const size_t i : left) {
      bool is_dominated = false;
      for (const size_t j : left) is_dominated = is_dominated || Dominates(points[j], points[i]);
      if (is_dominated) rest.push_back(i);
      ranks[i] = rank;
    }
    left = rest;
  }
  return ranks;
}

// The share of the grid's cells that lie above a point: exact where all coordinates are on it.
double CountedVolume(const std::vector<LossPoint>& points, size_t objectives, int grid) {
  int cells = 1;
  for (size_t i = 0; i < objectives; ++i) cells *= grid;
  int covered = 0;
  for (int cell = 0; cell < cells; ++cell) {
    LossPoint corner;
    for (int rest = cell; corner.size() < objectives; rest /= grid) {
      corner.push_back(static_cast<double>(rest % grid) / grid);
    }
    for (const LossPoint& point : points) {
      if (point != corner && !Dominates(point, corner)) continue;
      ++covered;
      break;
    }
  }
  return static_cast<double>(covered) / cells;
}

TEST(ConstrainedRanks, PutFeasibleFrontsFirstThenOneFrontForEachViolation) {
  const std::vector<LossPoint> points = {{0, 0}, {1, 2}, {2, 1}, {3, 3}, {0, 1}, {5, 5}};
  const std::vector<double> violations = {0.5, 0, 0, 0, 0.1, 0.5};
  EXPECT_THAT(ConstrainedRanks(points, violations), ElementsAre(3, 0, 0, 1, 2, 3));
  const std::vector<double> none(points.size(), 0.0);
  EXPECT_EQ(ConstrainedRanks(points, none), NonDominationRanks(points));
  const std::vector<double> all = {1, 1, 1, 2, 2, 1};
  EXPECT_THAT(ConstrainedRanks(points, all), ElementsAre(0, 0, 0, 1, 1, 0));
}

TEST(Dominates, IsNowhereWorseAndSomewhereBetter) {
  EXPECT_TRUE(Dominates({1, 2}, {1, 3}));
  EXPECT_FALSE(Dominates({1, 2}, {1, 2}));
  EXPECT_FALSE(Dominates({1, 2}, {0, 3}));
  EXPECT_TRUE(Dominates({-INFINITY, 1}, {INFINITY, 1}));
}

TEST(NonDominationRanks, AgreeWithPeelingOffFronts) {
  for (size_t objectives = 1; objectives <= 4; ++objectives) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      // A coarse grid: many ties and equal points.
      const auto points = RandomPoints(seed, 60, objectives, seed % 2 == 0 ? 6 : 1000);
      EXPECT_EQ(NonDominationRanks(points), PeeledRanks(points)) << objectives << " " << seed;
    }
  }
  EXPECT_TRUE(NonDominationRanks({}).empty());
}

TEST(CrowdingDistances, AreTheNeighboursDistancesInPartsOfTheRange) {
  // First objective 0, 1, 4 of a range of 4, second 8, 2, 0 of a range of 8: 4/4 + 8/8 = 2.
  const std::vector<LossPoint> points = {{4, 0}, {1, 2}, {0, 8}};
  EXPECT_THAT(CrowdingDistances(points), ElementsAre(INFINITY, 2.0, INFINITY));
}

TEST(CrowdingDistances, AnObjectiveInWhichAllAreAlikeTellsNobodyApart) {
  const std::vector<LossPoint> points = {{0, 1}, {1, 1}, {3, 1}, {4, 1}};
  EXPECT_THAT(CrowdingDistances(points), ElementsAre(INFINITY, 0.75, 0.75, INFINITY));
}

TEST(Hypervolume, OfTwoObjectivesIsTheAreaOfTheStairs) {
  // Reference (4, 4): (1, 3) covers 3 * 1, (2, 1) adds 2 * 2; the others add nothing.
  const std::vector<LossPoint> points = {{1, 3}, {2, 1}, {3, 2}, {2, 1}, {5, 0}, {4, 0}};
  EXPECT_DOUBLE_EQ(Hypervolume(points, {4, 4}), 7.0);
  EXPECT_DOUBLE_EQ(Hypervolume({}, {4, 4}), 0.0);
}

TEST(Hypervolume, AgreesWithCountingCells) {
  for (size_t objectives = 1; objectives <= 4; ++objectives) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const auto points = RandomPoints(seed, 12, objectives, 6);
      EXPECT_NEAR(Hypervolume(points, LossPoint(objectives, 1.0)),
                  CountedVolume(points, objectives, 6), 1e-12)
          << objectives << " " << seed;
    }
  }
}

TEST(HypervolumeContributions, AreWhatIsLostWithoutThePoint) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto points = RandomPoints(seed, 15, 3, 100);
    const LossPoint reference(3, 1.0);
    const std::vector<double> contributions = HypervolumeContributions(points, reference);
    for (size_t i = 0; i < points.size(); ++i) {
      auto others = points;
      others.erase(others.begin() + static_cast<ptrdiff_t>(i));
      EXPECT_NEAR(contributions[i], Hypervolume(points, reference) - Hypervolume(others, reference),
                  1e-12);
    }
  }
}

TEST(ChooseByHypervolume, EachNextPointAddsMostToThoseBeforeIt) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto points = RandomPoints(seed, 20, 3, 50);
    const LossPoint reference(3, 1.0);
    std::vector<LossPoint> covered;
    double volume = 0;
    for (const size_t next : ChooseByHypervolume(points, reference, 8)) {
      double best = 0;
      for (const LossPoint& point : points) {
        covered.push_back(point);
        best = std::max(best, Hypervolume(covered, reference));
        covered.pop_back();
      }
      covered.push_back(points[next]);
      volume = Hypervolume(covered, reference);
      EXPECT_THAT(volume, DoubleNear(best, 1e-12));
    }
  }
}

TEST(ChooseByHypervolume, ChoosesEachPointOnceEvenWhereItAddsNothing) {
  const std::vector<LossPoint> points = {{2, 2}, {1, 1}, {1, 1}};
  EXPECT_THAT(ChooseByHypervolume(points, {3, 3}, 3), ElementsAre(1, 0, 2));
}

}  // namespace
}  // namespace tune
