#include "search/tpe_searcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "bench/search_quality/functions.h"
#include "core/json.h"
#include "search/pareto.h"

namespace tune {
namespace {

using testing::HasSubstr;

constexpr char kTpe[] = R"({"algorithm": "tpe"})";
constexpr char kBohb[] = R"({"algorithm": "bohb"})";
constexpr char kRandom[] = R"({"algorithm": "random"})";

struct Setting {
  std::string search = kTpe;
  std::string space;
  std::vector<Mode> modes = {Mode::kMin};
  uint64_t seed = 1;
  std::optional<int64_t> max_t = {};
};

Result<std::unique_ptr<Searcher>> TryMake(const Setting& setting) {
  const Result<SearchSpace> space = SearchSpace::Parse(*ParseJson(setting.space));
  EXPECT_TRUE(space.ok()) << space.status().message();
  return MakeSearcher(
      *ParseJson(setting.search),
      {.space = *space, .modes = setting.modes, .seed = setting.seed, .max_t = setting.max_t});
}

std::unique_ptr<Searcher> Make(const Setting& setting) {
  auto made = TryMake(setting);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::string ErrorOf(const std::string& search, std::vector<Mode> modes = {Mode::kMin}) {
  const auto made = TryMake({search, R"({"x": {"uniform": [0, 1]}})", std::move(modes)});
  EXPECT_FALSE(made.ok());
  return made.status().message();
}

std::string Text(const Configuration& configuration) { return ToJson(configuration.ToFlat()); }

void Tell(Searcher& searcher, int64_t number, Metric value) {
  searcher.OnReport(TrialNumber{number}, 1, {&value, 1});
  searcher.OnTrialEnded(TrialNumber{number}, {&value, 1}, false);
}

double BestOf(const TestFunction& function, const std::string& search, uint64_t seed,
              int64_t trials) {
  const auto searcher = Make({search, std::string(function.space), {Mode::kMin}, seed});
  double best = std::numeric_limits<double>::infinity();
  for (int64_t n = 0; n < trials; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    const double value = function.value(*configuration);
    best = std::min(best, value);
    Tell(*searcher, n, value);
  }
  return best;
}

TEST(TpeSearcher, FindsBetterThanRandomSearchOnEveryKindOfSpace) {
  int all_wins = 0;
  for (const char* name : {"branin", "hartmann6", "rosenbrock_log3", "integer_ellipsoid5",
                           "categories6", "mixed_ackley", "trainers"}) {
    const TestFunction& function = *FindTestFunction(name);
    int wins = 0;
    for (uint64_t seed = 1001; seed <= 1008; ++seed) {
      wins += BestOf(function, kTpe, seed, 60) < BestOf(function, kRandom, seed, 60) ? 1 : 0;
    }
    EXPECT_GE(wins, 5) << name;
    all_wins += wins;
  }
  EXPECT_GE(all_wins, 50);  // Of 56.
}

TEST(TpeSearcher, AMaximumIsSoughtWhereTheModeSaysSo) {
  const auto searcher = Make({kTpe, R"({"x": {"uniform": [0, 1]}})", {Mode::kMax}});
  double last = 0;
  for (int64_t n = 0; n < 40; ++n) {
    last = searcher->Suggest(TrialNumber{n})->Find("x")->AsDouble();
    Tell(*searcher, n, -std::fabs(last - 0.8));
  }
  EXPECT_NEAR(last, 0.8, 0.1);
}

// Reports, ends and failures, some trials still running.
TEST(TpeSearcher, ARestoredOneGoesOnAsTheOldOneWouldHave) {
  for (const char* search : {kTpe, kBohb, R"({"algorithm": "tpe", "multivariate": false})"}) {
    const std::string space(FindTestFunction("trainers")->space);
    const auto old = Make({search, space, {Mode::kMin}, 3, 4});
    const auto restored = Make({search, space, {Mode::kMin}, 3, 4});
    for (int64_t n = 0; n < 60; ++n) {
      const auto configuration = old->Suggest(TrialNumber{n});
      if (n < 45) {
        restored->Restore(TrialNumber{n}, *configuration);
      } else {
        EXPECT_EQ(Text(*restored->Suggest(TrialNumber{n})), Text(*configuration)) << n;
      }
      for (Searcher* searcher : {old.get(), restored.get()}) {
        const Metric value =
            n % 11 == 3 ? Metric() : Metric(FindTestFunction("trainers")->value(*configuration));
        for (int64_t i = 1; i <= n % 5; ++i) searcher->OnReport(TrialNumber{n}, i, {&value, 1});
        if (n % 7 != 2) searcher->OnTrialEnded(TrialNumber{n}, {&value, 1}, n % 10 == 9);
      }
    }
  }
}

TEST(TpeSearcher, TheFirstTrialsAreRandomSearchs) {
  const std::string space(FindTestFunction("branin")->space);
  const auto tpe = Make({kTpe, space});
  const auto random = Make({kRandom, space});
  for (int64_t n = 0; n < 12; ++n) {
    const std::string drawn = Text(*tpe->Suggest(TrialNumber{n}));
    EXPECT_EQ(drawn == Text(*random->Suggest(TrialNumber{n})), n < 10) << n;
    Tell(*tpe, n, static_cast<double>(n));
  }
}

TEST(TpeSearcher, EveryConfigurationOfAFiniteSpaceIsTriedOnce) {
  // 4 + 3 * 2 configurations.
  constexpr char kSpace[] =
      R"({"a": {"choice": ["x", "y"]}, "b": {"randint": [0, 4], "when": {"a": "x"}},
          "c": {"quniform": [0, 1, 0.5], "when": {"a": "y"}},
          "d": {"ordinal": [1, 2], "when": {"a": "y"}}})";
  for (const char* search : {kTpe, kBohb}) {
    const auto searcher = Make({search, kSpace});
    std::set<std::string> seen;
    for (int64_t n = 0; n < 10; ++n) {
      const auto configuration = searcher->Suggest(TrialNumber{n});
      ASSERT_TRUE(configuration) << search << n;
      EXPECT_TRUE(seen.insert(Text(*configuration)).second);
      Tell(*searcher, n, 1.0);
    }
    EXPECT_FALSE(searcher->Suggest(TrialNumber{10}));
  }
}

TEST(TpeSearcher, StaysInItsDomainsWhateverIsReported) {
  constexpr char kSpace[] =
      R"({"u": {"uniform": [-1, 1]}, "l": {"loguniform": [1e-9, 1e3]}, "n": {"randn": [5, 2]},
          "q": {"qrandn": [0, 1, 0.5]}, "i": {"qlograndint": [8, 512, 8]},
          "j": {"randint": [-1000000, 1000000]}, "o": {"ordinal": ["s", "m", "l"]},
          "w": {"choice": [1, 2, 3], "weights": [1, 0, 5]}})";
  const double kInfinity = std::numeric_limits<double>::infinity();
  const Metric kValues[] = {1.0, std::nullopt, kInfinity, -kInfinity, std::nan(""), 1e300, 1.0};
  const SearchSpace space = *SearchSpace::Parse(*ParseJson(kSpace));
  for (const char* search : {kTpe, kBohb, R"({"algorithm": "tpe", "multivariate": false})"}) {
    const auto searcher = Make({search, kSpace});
    for (int64_t n = 0; n < 80; ++n) {
      const auto configuration = searcher->Suggest(TrialNumber{n});
      ASSERT_TRUE(configuration);
      EXPECT_TRUE(UnitSpace(space).CellsOf(*configuration)) << Text(*configuration);
      Tell(*searcher, n, kValues[n % 7]);
    }
  }
}

TEST(TpeSearcher, KeepsAwayFromWhereTrialsFail) {
  const auto searcher = Make({kTpe, R"({"x": {"uniform": [0, 1]}})"});
  int failures = 0;
  for (int64_t n = 0; n < 60; ++n) {
    const double x = searcher->Suggest(TrialNumber{n})->Find("x")->AsDouble();
    const Metric value = 1.0;
    const bool has_failed = x < 0.5;
    searcher->OnTrialEnded(TrialNumber{n}, {&value, 1}, has_failed);
    if (n >= 30 && has_failed) ++failures;
  }
  EXPECT_LE(failures, 5);
}

// Sixteen workers ask before any of them tells.
TEST(TpeSearcher, RunningTrialsPushTheNextOnesApart) {
  const auto distances = [](const char* search) {
    double sum = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const auto searcher = Make({search, R"({"x": {"uniform": [0, 1]}})", {Mode::kMin}, seed});
      std::vector<double> asked;
      for (int64_t n = 0; n < 36; ++n) {
        const double x = searcher->Suggest(TrialNumber{n})->Find("x")->AsDouble();
        if (n < 20) {
          Tell(*searcher, n, std::fabs(x - 0.3));
          continue;
        }
        for (const double other : asked) sum += std::fabs(x - other);
        asked.push_back(x);
      }
    }
    return sum;
  };
  EXPECT_GT(distances(kTpe), 1.1 * distances(R"({"algorithm": "tpe", "constant_liar": false})"));
}

TEST(TpeSearcher, OfSeveralMetricsItCoversMoreThanRandomSearch) {
  constexpr char kSpace[] =
      R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}, "z": {"uniform": [0, 1]},
          "k": {"choice": ["a", "b", "c"]}})";
  const auto covered = [&](const char* search, uint64_t seed) {
    const auto searcher = Make({search, kSpace, {Mode::kMin, Mode::kMax}, seed});
    std::vector<LossPoint> points;
    for (int64_t n = 0; n < 60; ++n) {
      const auto c = searcher->Suggest(TrialNumber{n});
      const double x = c->Find("x")->AsDouble();
      const double off = std::fabs(c->Find("y")->AsDouble() - 0.7) +
                         std::fabs(c->Find("z")->AsDouble() - 0.2) +
                         (c->Find("k")->AsString() == "b" ? 0 : 0.3);
      points.push_back({x + off, (1 - x) * (1 - x) + off});
      const Metric values[] = {points.back()[0], -points.back()[1]};
      searcher->OnTrialEnded(TrialNumber{n}, values, false);
    }
    return Hypervolume(points, {2, 2});
  };
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_GT(covered(kTpe, seed), covered(kRandom, seed) + 0.1) << seed;
  }
}

// At iteration 1 low x looks good, at 3, where half of the trials come to, high x is.
TEST(BohbSearcher, BelievesTheHighestLevelThatEnoughTrialsReached) {
  const auto searcher =
      Make({R"({"algorithm": "bohb", "random_fraction": 0})", R"({"x": {"uniform": [0, 1]}})"});
  double sum = 0;
  for (int64_t n = 0; n < 60; ++n) {
    const double x = searcher->Suggest(TrialNumber{n})->Find("x")->AsDouble();
    const Metric early = x;
    const Metric late = 1 - x;
    searcher->OnReport(TrialNumber{n}, 1, {&early, 1});
    if (n % 2 == 0) searcher->OnReport(TrialNumber{n}, 3, {&late, 1});
    if (n % 2 != 0) searcher->OnStopped(TrialNumber{n});
    searcher->OnTrialEnded(TrialNumber{n}, {n % 2 == 0 ? &late : &early, 1}, false);
    if (n >= 40) sum += x;
  }
  EXPECT_GT(sum / 20, 0.8);
}

TEST(BohbSearcher, AShareOfItsTrialsIsRandomSearchs) {
  const char* const space = R"({"x": {"uniform": [0, 1]}})";
  const auto bohb = Make({R"({"algorithm": "bohb", "random_fraction": 0.5})", space});
  const auto random = Make({kRandom, space});
  int same = 0;
  for (int64_t n = 0; n < 120; ++n) {
    const std::string drawn = Text(*bohb->Suggest(TrialNumber{n}));
    same += n >= 20 && drawn == Text(*random->Suggest(TrialNumber{n})) ? 1 : 0;
    Tell(*bohb, n, 1.0);
  }
  EXPECT_GE(same, 35);
  EXPECT_LE(same, 65);
}

TEST(MakeTpeSearcher, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(
      ErrorOf(R"({"algorithm": "tpe", "n_startup_trial": 3})"),
      HasSubstr("'n_startup_trial' is not an option of tpe; did you mean 'n_startup_trials'?"));
  EXPECT_THAT(ErrorOf(R"({"algorithm": "tpe", "gamma": 0})"), HasSubstr("gamma: read 0, expected"));
  EXPECT_THAT(ErrorOf(R"({"algorithm": "tpe", "n_ei_candidates": 0})"),
              HasSubstr("n_ei_candidates: read 0, expected an integer from 1"));
  EXPECT_THAT(ErrorOf(R"({"algorithm": "tpe", "multivariate": false, "group": true})"),
              HasSubstr("group: read true, expected multivariate: true beside it"));
  EXPECT_THAT(ErrorOf(R"({"algorithm": "bohb", "random_fraction": 2})"),
              HasSubstr("random_fraction: read 2, expected a number from 0"));
  EXPECT_THAT(ErrorOf(kBohb, {Mode::kMin, Mode::kMax}), HasSubstr("bohb has one metric"));
}

}  // namespace
}  // namespace tune
