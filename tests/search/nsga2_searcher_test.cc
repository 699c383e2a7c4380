#include "search/nsga2_searcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "core/json.h"
#include "search/pareto.h"

namespace tune {
namespace {

using testing::HasSubstr;

// Cost and error of a model: larger ones err less, kind "c" is the best throughout.
constexpr char kSpace[] =
    R"({"size": {"lograndint": [1, 1000]}, "rate": {"uniform": [0, 1]},
        "kind": {"choice": ["a", "b", "c", "d"]}})";

LossPoint CostAndError(const Configuration& c) {
  const double size = std::log10(c.Find("size")->AsDouble()) / 3;
  const double rate = c.Find("rate")->AsDouble() - 0.8;
  const double kind = std::fabs(c.Find("kind")->AsString()[0] - 'c');
  return {size + kind / 4, (1 - size) * (1 - size) + rate * rate + kind / 4};
}

std::unique_ptr<Searcher> Make(std::string_view search, std::string_view space, uint64_t seed = 1,
                               std::vector<Mode> modes = {Mode::kMin, Mode::kMax}) {
  auto made =
      MakeSearcher(*ParseJson(search),
                   {.space = *SearchSpace::Parse(*ParseJson(space)), .modes = modes, .seed = seed});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

// The second metric is to be high: it is told as a gain.
void Tell(Searcher& searcher, int64_t number, const LossPoint& losses) {
  const std::vector<Metric> values = {losses[0], -losses[1]};
  searcher.OnReport(TrialNumber{number}, 1, values);
  searcher.OnTrialEnded(TrialNumber{number}, values, false);
}

std::vector<Configuration> RunTrials(Searcher& searcher, int64_t from, int64_t to) {
  std::vector<Configuration> all;
  for (int64_t n = from; n < to; ++n) {
    const auto configuration = searcher.Suggest(TrialNumber{n});
    if (!configuration) break;
    all.push_back(*configuration);
    Tell(searcher, n, CostAndError(*configuration));
  }
  return all;
}

double VolumeOf(const std::vector<Configuration>& all) {
  std::vector<LossPoint> points;
  for (const Configuration& configuration : all) points.push_back(CostAndError(configuration));
  return Hypervolume(points, {1.5, 1.5});
}

TEST(Nsga2Searcher, AConfigurationOfWhichARunIsOpenedAgainIsInThePopulationOnce) {
  const auto searcher = Make(R"({"algorithm": "nsga2", "repeat": 2})", kSpace, 1, {Mode::kMin});
  const Metric value = 1;
  for (int64_t n = 0; n < 2; ++n) {
    searcher->Suggest(TrialNumber{n});
    searcher->OnTrialEnded(TrialNumber{n}, {&value, 1}, /*failed=*/n == 1);
  }
  EXPECT_THAT(searcher->DebugString(), HasSubstr("population of 1 of"));
  searcher->OnReopened(TrialNumber{1});
  EXPECT_THAT(searcher->DebugString(), HasSubstr("population of 0 of"));
  searcher->OnTrialEnded(TrialNumber{1}, {&value, 1}, false);
  EXPECT_THAT(searcher->DebugString(), HasSubstr("population of 1 of"));
}

TEST(Nsga2Searcher, CoversMoreOfTheFrontThanRandomSearchWithTwiceTheTrials) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto searcher = Make(R"({"algorithm": "nsga2", "population_size": 20})", kSpace, seed);
    const auto random = Make(R"({"algorithm": "random"})", kSpace, seed);
    EXPECT_GT(VolumeOf(RunTrials(*searcher, 0, 200)), VolumeOf(RunTrials(*random, 0, 400))) << seed;
  }
}

TEST(Nsga2Searcher, FollowsASingleMetricToo) {
  const auto searcher =
      Make(R"({"algorithm": "nsga2", "population_size": 10})", kSpace, 1, {Mode::kMin});
  double best = 1;
  for (int64_t n = 0; n < 150; ++n) {
    const LossPoint losses = CostAndError(*searcher->Suggest(TrialNumber{n}));
    const Metric value = losses[0] + 10 * losses[1];
    searcher->OnTrialEnded(TrialNumber{n}, {&value, 1}, false);
    best = std::fmin(best, *value);
  }
  EXPECT_LT(best, 0.99);  // The minimum is 0.975; of 150 random trials the best is about 1.06.
}

TEST(Nsga2Searcher, TheFirstPopulationIsRandomSearchs) {
  const auto searcher = Make(R"({"algorithm": "nsga2", "population_size": 5})", kSpace);
  const auto random = Make(R"({"algorithm": "random"})", kSpace);
  const auto all = RunTrials(*searcher, 0, 7);
  for (int64_t n = 0; n < 7; ++n) {
    EXPECT_EQ(all[static_cast<size_t>(n)] == random->Suggest(TrialNumber{n}), n < 5) << n;
  }
}

TEST(Nsga2Searcher, FailedTrialsAndThoseThatLackAMetricAreNoParents) {
  // Everything with a small size fails, everything with a small rate lacks the second metric.
  const auto searcher = Make(R"({"algorithm": "nsga2", "population_size": 10})", kSpace);
  int good = 0;
  for (int64_t n = 0; n < 120; ++n) {
    const Configuration configuration = *searcher->Suggest(TrialNumber{n});
    const LossPoint losses = CostAndError(configuration);
    const bool failed = configuration.Find("size")->AsInt() < 30;
    const bool lacks = configuration.Find("rate")->AsDouble() < 0.5;
    const std::vector<Metric> values = {losses[0], lacks ? Metric() : Metric(-losses[1])};
    searcher->OnReport(TrialNumber{n}, 1, values);
    searcher->OnTrialEnded(TrialNumber{n}, values, failed);
    if (n >= 60 && !failed && !lacks) ++good;
  }
  // By chance it would be a quarter of 60.
  EXPECT_GT(good, 40);
}

TEST(Nsga2Searcher, IsRandomSearchWhileNothingHasEnded) {
  const auto searcher = Make(R"({"algorithm": "nsga2", "population_size": 2})", kSpace);
  const auto random = Make(R"({"algorithm": "random"})", kSpace);
  for (int64_t n = 0; n < 10; ++n) {
    EXPECT_EQ(searcher->Suggest(TrialNumber{n}), random->Suggest(TrialNumber{n}));
  }
}

TEST(Nsga2Searcher, NeverHasAConfigurationTwiceAndEndsWithTheSpace) {
  const auto searcher = Make(R"({"algorithm": "nsga2", "population_size": 4})",
                             R"({"size": {"randint": [1, 6]}, "rate": {"quniform": [0, 1, 0.5]},
               "kind": {"choice": ["a", "b"]}})");
  const auto all = RunTrials(*searcher, 0, 100);
  std::set<std::string> seen;
  for (const Configuration& configuration : all) seen.insert(ToJson(configuration.ToFlat()));
  EXPECT_EQ(all.size(), 30u);
  EXPECT_EQ(seen.size(), 30u);
}

TEST(Nsga2Searcher, ARestoredSweepGoesOnAsTheOneBeforeIt) {
  constexpr char kSearch[] = R"({"algorithm": "nsga2", "population_size": 10})";
  const auto all = RunTrials(*Make(kSearch, kSpace), 0, 60);
  const auto later = Make(kSearch, kSpace);
  for (int64_t n = 0; n < 40; ++n) {
    later->Restore(TrialNumber{n}, all[static_cast<size_t>(n)]);
    Tell(*later, n, CostAndError(all[static_cast<size_t>(n)]));
  }
  const auto rest = RunTrials(*later, 40, 60);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), all.begin() + 40, all.end()));
}

TEST(Nsga2Searcher, RefusesWhatItCannotDo) {
  const auto error = [](std::string_view search, std::string_view space) {
    return MakeSearcher(*ParseJson(search), {.space = *SearchSpace::Parse(*ParseJson(space))})
        .status()
        .message();
  };
  EXPECT_THAT(error(R"({"algorithm": "nsga2", "population": 3})", kSpace),
              HasSubstr("'population' is not an option of nsga2"));
  EXPECT_THAT(error(R"({"algorithm": "nsga2", "population_size": 1})", kSpace),
              HasSubstr("population_size: read 1, expected an integer from 2"));
  EXPECT_THAT(error(R"({"algorithm": "nsga2", "crossover_prob": 1.5})", kSpace),
              HasSubstr("crossover_prob: read 1.5, expected a number from 0"));
  EXPECT_THAT(error(R"({"algorithm": "nsga2"})", R"({"g": {"grid_search": [1, 2]}})"),
              HasSubstr("'g' is grid_search"));
}

}  // namespace
}  // namespace tune
