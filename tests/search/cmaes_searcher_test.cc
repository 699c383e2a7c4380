#include "search/cmaes_searcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <set>

#include "core/json.h"

namespace tune {
namespace {

using testing::HasSubstr;

constexpr char kPlane[] = R"({"x": {"uniform": [-4, 6]}, "y": {"loguniform": [1e-4, 1]}})";
constexpr char kMixed[] =
    R"({"x": {"uniform": [0, 1]}, "k": {"randint": [0, 40]},
        "c": {"choice": ["a", "b", "c", "d"]}})";

std::unique_ptr<Searcher> Make(std::string_view search, std::string_view space, uint64_t seed = 1) {
  auto made = MakeSearcher(
      *ParseJson(search),
      {.space = *SearchSpace::Parse(*ParseJson(space)), .modes = {Mode::kMin}, .seed = seed});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

double Plane(const Configuration& c) {
  const double x = c.Find("x")->AsDouble() - 1;
  const double y = std::log10(c.Find("y")->AsDouble()) + 3;
  return x * x + y * y + x * y;
}

// The optimum: x 1 (at the side), k 29, c "b".
double Mixed(const Configuration& c) {
  const double k = c.Find("k")->AsDouble() - 29;
  return 1 - c.Find("x")->AsDouble() + k * k / 100 + (c.Find("c")->AsString() == "b" ? 0.0 : 0.5);
}

// Trials `from` .. `to` - 1, `workers` of them running at a time; each suggestion.
template <typename Loss>
std::vector<Configuration> RunTrials(Searcher& searcher, int64_t from, int64_t to, size_t workers,
                                     Loss loss) {
  std::vector<Configuration> all;
  std::deque<std::pair<int64_t, Configuration>> running;
  const auto end_first = [&] {
    const auto& [number, configuration] = running.front();
    const Metric value = loss(configuration);
    searcher.OnReport(TrialNumber{number}, 1, {&value, 1});
    searcher.OnTrialEnded(TrialNumber{number}, {&value, 1}, std::isnan(*value));
    running.pop_front();
  };
  for (int64_t n = from; n < to; ++n) {
    const auto configuration = searcher.Suggest(TrialNumber{n});
    if (!configuration) break;
    all.push_back(*configuration);
    running.emplace_back(n, *configuration);
    if (running.size() == workers) end_first();
  }
  while (!running.empty()) end_first();
  return all;
}

template <typename Loss>
double BestOf(const std::vector<Configuration>& all, Loss loss) {
  double best = std::numeric_limits<double>::infinity();
  for (const Configuration& configuration : all) best = std::fmin(best, loss(configuration));
  return best;
}

TEST(CmaEsSearcher, LearnsWhatATrialComesToThatIsOpenedAgain) {
  const auto suggests = [](bool reopens) {
    const auto searcher =
        Make(R"({"algorithm": "cmaes", "n_startup_trials": 0, "popsize": 4})", kPlane);
    const auto end = [&](int64_t n, bool failed) {
      const Metric loss = static_cast<double>(n);
      searcher->OnTrialEnded(TrialNumber{n}, {&loss, 1}, failed);
    };
    for (int64_t n = 0; n < 7; ++n) {
      searcher->Suggest(TrialNumber{n});
      end(n, n == 2);
      if (n != 3 || !reopens) continue;
      searcher->OnReopened(TrialNumber{2});
      end(2, false);
    }
    // The four of the second generation have ended where one of them came from the first.
    return searcher->Suggest(TrialNumber{7});
  };
  EXPECT_NE(suggests(true), suggests(false));
}

TEST(CmaEsSearcher, ConvergesOnASmoothFunction) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto searcher = Make(R"({"algorithm": "cmaes"})", kPlane, seed);
    EXPECT_LT(BestOf(RunTrials(*searcher, 0, 250, 1, Plane), Plane), 1e-5) << seed;
  }
}

TEST(CmaEsSearcher, ConvergesWithManyTrialsRunningAtATime) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto searcher = Make(R"({"algorithm": "cmaes"})", kPlane, seed);
    EXPECT_LT(BestOf(RunTrials(*searcher, 0, 300, 8, Plane), Plane), 1e-4) << seed;
  }
}

TEST(CmaEsSearcher, FindsTheSideOfTheCubeTheRightIntegerAndTheRightChoice) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto searcher = Make(R"({"algorithm": "cmaes"})", kMixed, seed);
    EXPECT_LT(BestOf(RunTrials(*searcher, 0, 300, 1, Mixed), Mixed), 1e-3) << seed;
  }
}

// One of two values is drawn, and each was tried twelve times.
TEST(CmaEsSearcher, BeginsAfterAllTrialsOfAnEarlierSweepThoughDrawsEqualThem) {
  const auto run_of = [](SearchRules rules) {
    std::vector<EarlierTrial> history;
    for (int64_t i = 0; i < 24; ++i) {
      Configuration configuration;
      configuration.Set("k", Value(i % 2));
      history.push_back({configuration, {{1, {static_cast<double>(i % 2)}}}, false});
    }
    const auto made =
        MakeSearcher(*ParseJson(R"({"algorithm": "cmaes"})"),
                     {.space = *SearchSpace::Parse(*ParseJson(R"({"k": {"randint": [0, 2]}})")),
                      .modes = {Mode::kMin},
                      .seed = 1,
                      .history = history,
                      .rules = rules});
    return (*made)->DebugString();
  };
  EXPECT_THAT(run_of(SearchRules::kFrom16), HasSubstr("cmaes, run 0,"));
  EXPECT_THAT(run_of(SearchRules::kFrom15), HasSubstr("cmaes, run 1,"))
      << "a sweep of an older build";
}

TEST(CmaEsSearcher, FailedTrialsCountAsTheWorst) {
  // Half of the plane fails; the optimum is next to it.
  const auto loss = [](const Configuration& c) {
    return c.Find("x")->AsDouble() < 0.9 ? std::nan("") : Plane(c);
  };
  const auto searcher = Make(R"({"algorithm": "cmaes"})", kPlane);
  EXPECT_LT(BestOf(RunTrials(*searcher, 0, 300, 1, loss), loss), 1e-2);
}

TEST(CmaEsSearcher, GoesOnWhereEverythingFails) {
  const auto searcher = Make(R"({"algorithm": "cmaes"})", kPlane);
  const auto all =
      RunTrials(*searcher, 0, 200, 1, [](const Configuration&) { return std::nan(""); });
  EXPECT_EQ(all.size(), 200u);
}

TEST(CmaEsSearcher, AnInfiniteValueIsWorseThanAnyOther) {
  const auto loss = [](const Configuration& c) {
    return c.Find("x")->AsDouble() > 2 ? std::numeric_limits<double>::infinity() : Plane(c);
  };
  const auto searcher = Make(R"({"algorithm": "cmaes"})", kPlane);
  EXPECT_LT(BestOf(RunTrials(*searcher, 0, 300, 1, loss), loss), 1e-3);
}

TEST(CmaEsSearcher, TheFirstTrialsAreRandomSearchs) {
  const auto searcher = Make(R"({"algorithm": "cmaes", "n_startup_trials": 5})", kPlane);
  const auto random = Make(R"({"algorithm": "random"})", kPlane);
  const auto all = RunTrials(*searcher, 0, 6, 1, Plane);
  for (int64_t n = 0; n < 6; ++n) {
    EXPECT_EQ(all[static_cast<size_t>(n)] == random->Suggest(TrialNumber{n}), n < 5) << n;
  }
}

TEST(CmaEsSearcher, NeverHasAConfigurationTwiceAndEndsWithTheSpace) {
  const auto searcher = Make(
      R"({"algorithm": "cmaes"})",
      R"({"k": {"randint": [0, 10]}, "c": {"choice": ["a", "b"]}, "o": {"ordinal": [1, 2, 4]}})");
  const auto all = RunTrials(*searcher, 0, 100, 1, [](const Configuration& c) {
    return std::fabs(c.Find("k")->AsDouble() - 6);
  });
  std::set<std::string> seen;
  for (const Configuration& configuration : all) seen.insert(ToJson(configuration.ToFlat()));
  EXPECT_EQ(all.size(), 60u);
  EXPECT_EQ(seen.size(), 60u);
}

TEST(CmaEsSearcher, ARestoredSweepGoesOnAsTheOneBeforeIt) {
  const auto whole = Make(R"({"algorithm": "cmaes"})", kMixed);
  const auto all = RunTrials(*whole, 0, 120, 1, Mixed);
  const auto later = Make(R"({"algorithm": "cmaes"})", kMixed);
  for (int64_t n = 0; n < 70; ++n) {
    later->Restore(TrialNumber{n}, all[static_cast<size_t>(n)]);
    const Metric value = Mixed(all[static_cast<size_t>(n)]);
    later->OnReport(TrialNumber{n}, 1, {&value, 1});
    later->OnTrialEnded(TrialNumber{n}, {&value, 1}, false);
  }
  const auto rest = RunTrials(*later, 70, 120, 1, Mixed);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), all.begin() + 70, all.end()));
}

TEST(CmaEsSearcher, BeginsAtTheBestOfTheTrialsFromElsewhere) {
  // Configurations that it did not suggest itself; the best lies in a corner.
  const auto searcher = Make(R"({"algorithm": "cmaes", "sigma0": 0.01, "n_startup_trials": 0})",
                             R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})");
  Configuration corner;
  corner.Set("x", Value(0.9));
  corner.Set("y", Value(0.1));
  searcher->Restore(TrialNumber{0}, corner);
  const Metric value = 0.5;
  searcher->OnTrialEnded(TrialNumber{0}, {&value, 1}, false);
  const auto next = searcher->Suggest(TrialNumber{1});
  EXPECT_NEAR(next->Find("x")->AsDouble(), 0.9, 0.05);
  EXPECT_NEAR(next->Find("y")->AsDouble(), 0.1, 0.05);
}

TEST(CmaEsSearcher, RestartsElsewhereWhenItNoLongerImproves) {
  // A wide basin with the bottom 1, and a narrow one with the bottom 0.
  const auto loss = [](const Configuration& c) {
    const double x = c.Find("x")->AsDouble();
    const double y = c.Find("y")->AsDouble();
    const double wide = 1 + (x - 0.6) * (x - 0.6) + (y - 0.6) * (y - 0.6);
    const double narrow = 40 * ((x - 0.1) * (x - 0.1) + (y - 0.1) * (y - 0.1));
    return std::fmin(wide, narrow);
  };
  constexpr char kSquare[] = R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})";
  const auto best = [&](const std::string& restart) {
    const auto searcher =
        Make(R"({"algorithm": "cmaes", "n_startup_trials": 0, "restart_strategy": ")" + restart +
                 R"("})",
             kSquare);
    return BestOf(RunTrials(*searcher, 0, 3000, 1, loss), loss);
  };
  EXPECT_GT(best("none"), 0.99);
  EXPECT_LT(best("ipop"), 0.01);
  EXPECT_LT(best("bipop"), 0.01);
}

TEST(CmaEsSearcher, TheSmallestPopulationRestartsToo) {
  const auto searcher = Make(R"({"algorithm": "cmaes", "popsize": 2, "inc_popsize": 1})", kPlane);
  EXPECT_EQ(RunTrials(*searcher, 0, 3000, 1, [](const Configuration&) { return 1.0; }).size(),
            3000u);
}

TEST(CmaEsSearcher, RefusesWhatItCannotDo) {
  const auto error = [](std::string_view search, std::string_view space,
                        std::vector<Mode> modes = {Mode::kMin}) {
    return MakeSearcher(*ParseJson(search),
                        {.space = *SearchSpace::Parse(*ParseJson(space)), .modes = modes})
        .status()
        .message();
  };
  constexpr char kCmaEs[] = R"({"algorithm": "cmaes"})";
  EXPECT_THAT(error(kCmaEs, R"({"c": {"choice": [1, 2]}})"), HasSubstr("the space has none"));
  EXPECT_THAT(error(kCmaEs, R"({"g": {"grid_search": [1, 2]}})"), HasSubstr("'g' is grid_search"));
  EXPECT_THAT(error(kCmaEs, kPlane, {Mode::kMin, Mode::kMax}), HasSubstr("use nsga2 or tpe"));
  EXPECT_THAT(error(R"({"algorithm": "cmaes", "popsise": 3})", kPlane),
              HasSubstr("did you mean 'popsize'?"));
  EXPECT_THAT(error(R"({"algorithm": "cmaes", "popsize": 1})", kPlane),
              HasSubstr("popsize: read 1"));
  EXPECT_THAT(error(R"({"algorithm": "cmaes", "sigma0": 0})", kPlane), HasSubstr("sigma0: read 0"));
  EXPECT_THAT(error(R"({"algorithm": "cmaes", "restart_strategy": "often"})", kPlane),
              HasSubstr("expected none, ipop or bipop"));
}

}  // namespace
}  // namespace tune
