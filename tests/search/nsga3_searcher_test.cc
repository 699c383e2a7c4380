// NSGA-III: niches of many objectives, and what the searcher makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "core/json.h"
#include "search/pareto.h"
#include "search/reference_niches.h"
#include "search/searcher.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SimplexDirections, AreAllPointsOfTheFinestLatticeThatFits) {
  EXPECT_THAT(SimplexDirections(2, 3),
              ElementsAre(ElementsAre(0, 1), ElementsAre(0.5, 0.5), ElementsAre(1, 0)));
  EXPECT_EQ(SimplexDirections(3, 91).size(), 91u);  // Deb and Jain's table I: 12 parts.
  EXPECT_EQ(SimplexDirections(3, 90).size(), 78u);
  EXPECT_EQ(SimplexDirections(5, 210).size(), 210u);
  EXPECT_EQ(SimplexDirections(8, 2).size(), 8u) << "the corners at least";
  for (const LossPoint& direction : SimplexDirections(4, 50)) {
    double sum = 0;
    for (const double part : direction) sum += part;
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(NichesOf, AreTheNearestDirectionsWhereverObjectivesBeginAndHoweverLongTheyAre) {
  const std::vector<LossPoint> directions = SimplexDirections(2, 3);
  const std::vector<LossPoint> points = {{100, 0.1}, {100.1, 0.09}, {150, 0.05}, {200, 0}};
  const std::vector<size_t> ranks = {0, 0, 0, 0};
  const std::vector<Niche> niches = NichesOf(points, ranks, directions);
  EXPECT_EQ(niches[0].direction, 0u);
  EXPECT_EQ(niches[1].direction, 0u);
  EXPECT_EQ(niches[2].direction, 1u);
  EXPECT_EQ(niches[3].direction, 2u);
  EXPECT_NEAR(niches[2].distance, 0, 1e-9);
}

TEST(NichesOf, AreThereForPointsThatSpanNoPlaneAndForInfiniteOnes) {
  const std::vector<LossPoint> directions = SimplexDirections(3, 6);
  const std::vector<LossPoint> points = {{1, 1, 1}, {1, 1, 1}, {HUGE_VAL, 2, 3}};
  const std::vector<size_t> ranks = {0, 0, 1};
  for (const Niche& niche : NichesOf(points, ranks, directions)) {
    EXPECT_LT(niche.direction, directions.size());
    EXPECT_TRUE(std::isfinite(niche.distance));
  }
}

constexpr char kCube[] =
    R"({"a": {"uniform": [0, 1]}, "b": {"uniform": [0, 1]}, "c": {"uniform": [0, 1]},
        "d": {"uniform": [0, 1]}, "e": {"uniform": [0, 1]}, "f": {"uniform": [0, 1]},
        "g": {"uniform": [0, 1]}})";

// DTLZ 2 of four objectives: a part of a sphere.
std::vector<double> Sphere(const Configuration& configuration) {
  std::vector<double> x;
  for (const auto& parameter : configuration.parameters()) x.push_back(parameter.second.AsDouble());
  double g = 0;
  for (size_t i = 3; i < x.size(); ++i) g += (x[i] - 0.5) * (x[i] - 0.5);
  const auto angle = [&](size_t i) { return x[i] * std::numbers::pi / 2; };
  return {(1 + g) * std::cos(angle(0)) * std::cos(angle(1)) * std::cos(angle(2)),
          (1 + g) * std::cos(angle(0)) * std::cos(angle(1)) * std::sin(angle(2)),
          (1 + g) * std::cos(angle(0)) * std::sin(angle(1)), (1 + g) * std::sin(angle(0))};
}

Result<std::unique_ptr<Searcher>> TryMake(const std::string& search, size_t objectives,
                                          uint64_t seed) {
  return MakeSearcher(*ParseJson(search), {.space = *SearchSpace::Parse(*ParseJson(kCube)),
                                           .modes = std::vector<Mode>(objectives, Mode::kMin),
                                           .seed = seed});
}

double VolumeOf(const std::string& search, int64_t trials, uint64_t seed) {
  const auto searcher = TryMake(search, 4, seed);
  EXPECT_TRUE(searcher.ok()) << searcher.status().message();
  std::vector<LossPoint> points;
  for (int64_t n = 0; n < trials; ++n) {
    const Configuration configuration = *(*searcher)->Suggest(TrialNumber{n});
    points.push_back(Sphere(configuration));
    const std::vector<Metric> values(points.back().begin(), points.back().end());
    (*searcher)->OnTrialEnded(TrialNumber{n}, values, false);
  }
  // The volume of a few hundred points of four objectives takes long; the front's is the same.
  const std::vector<size_t> ranks = NonDominationRanks(points);
  std::vector<LossPoint> front;
  for (size_t i = 0; i < points.size(); ++i) {
    if (ranks[i] == 0) front.push_back(points[i]);
  }
  return Hypervolume(front, {1.2, 1.2, 1.2, 1.2});
}

double MedianVolume(const std::string& search, int64_t trials) {
  std::vector<double> volumes;
  for (uint64_t seed = 0; seed < 5; ++seed) volumes.push_back(VolumeOf(search, trials, seed));
  std::sort(volumes.begin(), volumes.end());
  return volumes[2];
}

TEST(Nsga3Searcher, CoversMoreOfFourObjectivesThanNsga2AndRandomSearch) {
  const double nsga3 = MedianVolume(R"({"algorithm": "nsga3", "population_size": 40})", 300);
  EXPECT_GT(nsga3, MedianVolume(R"({"algorithm": "nsga2", "population_size": 40})", 300));
  EXPECT_GT(nsga3, MedianVolume(R"({"algorithm": "random"})", 300));
}

TEST(Nsga3Searcher, TheSameSeedLeadsToTheSameTrials) {
  const std::string search = R"({"algorithm": "nsga3", "population_size": 10})";
  EXPECT_EQ(VolumeOf(search, 60, 3), VolumeOf(search, 60, 3));
  EXPECT_NE(VolumeOf(search, 60, 3), VolumeOf(search, 60, 4));
}

TEST(Nsga3Searcher, NeedsSeveralMetricsAndKnowsItsOptions) {
  EXPECT_THAT(TryMake(R"({"algorithm": "nsga3"})", 1, 1).status().message(),
              HasSubstr("nsga3 spreads trials over several metrics, and there is one"));
  EXPECT_THAT(TryMake(R"({"algorithm": "nsga3", "population": 4})", 2, 1).status().message(),
              HasSubstr("population_size"));
  EXPECT_THAT((*TryMake(R"({"algorithm": "nsga3"})", 2, 1))->DebugString(), HasSubstr("nsga3"));
}

}  // namespace
}  // namespace tune
