// What searchers make of an earlier sweep.
#include "search/earlier_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "core/json.h"
#include "search/searcher.h"
#include "search/trial_observations.h"

namespace tune {
namespace {

using testing::HasSubstr;

SearchSpace Space(std::string_view space, std::string_view constraints = "null") {
  Result<SearchSpace> parsed = SearchSpace::Parse(*ParseJson(space), *ParseJson(constraints));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return *std::move(parsed);
}

Configuration Flat(std::string_view json) { return *Configuration::FromFlat(*ParseJson(json)); }

constexpr char kSpace[] =
    R"({"kind": {"choice": ["a", "b"]}, "x": {"uniform": [0, 1], "when": {"kind": "a"}},
        "n": {"randint": [1, 9]}, "k": 3})";

TEST(FitToSpace, TakesWhatIsOfTheSpaceAndMakesTheValuesItsOwn) {
  const auto fitted =
      FitToSpace(Flat(R"([["k", 3.0], ["kind", "a"], ["n", 2.0], ["x", 0]])"), Space(kSpace));
  ASSERT_TRUE(fitted.ok()) << fitted.status().message();
  EXPECT_EQ(ToJson(fitted->ToFlat()), R"([["kind","a"],["x",0.0],["n",2],["k",3]])");
}

TEST(FitToSpace, SaysWhatDoesNotFit) {
  const auto why = [](std::string_view flat, std::string_view constraints = "null") {
    return FitToSpace(Flat(flat), Space(kSpace, constraints)).status().message();
  };
  EXPECT_EQ(why(R"([["kind", "b"], ["n", 9], ["k", 3]])"), "'n' was 9, now it is randint: [1, 9]");
  EXPECT_EQ(why(R"([["kind", "b"], ["n", 1], ["k", 4]])"), "'k' was 4, now it is 3");
  EXPECT_EQ(why(R"([["kind", "b"], ["n", 1], ["k", 3], ["z", 1]])"),
            "it has 'z', which this space does not");
  EXPECT_EQ(why(R"([["kind", "b"], ["k", 3]])"), "'n' is not part of it");
  EXPECT_EQ(why(R"([["kind", "b"], ["x", 0.5], ["n", 1], ["k", 3]])"),
            "'x' does not exist beside its other values");
  EXPECT_EQ(why(R"([["kind", "b"], ["n", 5], ["k", 3]])", R"(["n < 4"])"),
            "it does not keep to the constraints");
}

TEST(ShareOfSpace, TakesWhatTheSpaceHasOfItWhateverElseIsMissing) {
  const auto share = [](std::string_view flat) {
    return ShareOfSpace(Flat(flat), Space(kSpace, R"(["n < 4"])"));
  };
  // Another constant, a parameter that is gone, one that did not exist, a constraint that is new.
  EXPECT_EQ(ToJson(share(R"([["k", 7], ["z", 1], ["n", 8.0]])")->ToFlat()), R"([["n",8]])");
  EXPECT_EQ(share(R"([["kind", "c"], ["n", 8]])").status().message(),
            "'kind' was 'c', now it is choice: [\"a\", \"b\"]");
  EXPECT_EQ(share(R"([["z", 1], ["k", 3]])").status().message(),
            "it has none of this space's parameters");
}

TEST(TrialObservations, AnEarlierTrialCountsAsHadOnlyWhereThatIsAskedFor) {
  const SearchSpace space = Space(R"({"x": {"uniform": [0, 1]}})");
  const Configuration configuration = Flat(R"([["x", 0.5]])");
  for (const bool counts_history : {false, true}) {
    TrialObservations observations(
        SearchProblem{.space = space, .modes = {Mode::kMin}, .is_unique = counts_history});
    observations.Add(TrialNumber{-1}, configuration);
    observations.Add(TrialNumber{-2}, Flat(R"([["x", 0.25]])"));
    const Metric value = 4;
    observations.OnReport(TrialNumber{-2}, 3, {&value, 1});
    observations.OnTrialEnded(TrialNumber{-2}, {&value, 1}, false);
    EXPECT_EQ(observations.Has(configuration), counts_history);
    EXPECT_EQ(observations.Find(TrialNumber{-2})->losses, Losses{4});
    EXPECT_TRUE(observations.Find(TrialNumber{-1})->losses.empty());
    EXPECT_EQ(observations.Find(TrialNumber{1}), nullptr);
    observations.Add(TrialNumber{1}, configuration);
    EXPECT_TRUE(observations.Has(configuration));
  }
}

// Forty trials of (x - 0.3)^2, evenly over [0, 1).
std::vector<EarlierTrial> Parabola() {
  std::vector<EarlierTrial> history;
  for (int i = 0; i < 40; ++i) {
    const double x = i / 40.0;
    EarlierTrial& trial = history.emplace_back();
    trial.configuration.Set("x", Value(x));
    trial.reports = {{1, {std::pow(x - 0.3, 2)}}};
    trial.has_failed = i == 39;
  }
  return history;
}

TEST(History, OneThatLearnsBeginsWhereTheEarlierSweepWasGood) {
  const SearchSpace space = Space(R"({"x": {"uniform": [0, 1]}})");
  for (const char* const algorithm :
       {R"({"algorithm": "tpe"})", R"({"algorithm": "bohb"})", R"({"algorithm": "gp"})"}) {
    const auto mean_distance = [&](std::vector<EarlierTrial> history) {
      double sum = 0;
      for (uint64_t seed = 1; seed <= 20; ++seed) {
        const auto searcher =
            MakeSearcher(*ParseJson(algorithm),
                         {.space = space, .modes = {Mode::kMin}, .seed = seed, .history = history});
        EXPECT_TRUE(searcher.ok()) << searcher.status().message();
        const auto first = (*searcher)->Suggest(TrialNumber{0});
        sum += std::fabs(first->Find("x")->AsDouble() - 0.3);
      }
      return sum / 20;
    };
    // A random point is 0.29 away on average.
    EXPECT_LT(mean_distance(Parabola()), 0.12) << algorithm;
    EXPECT_GT(mean_distance({}), 0.2) << algorithm;
  }
}

TEST(History, EverySearcherTakesItAndGoesOnAlikeAfterARestart) {
  const SearchSpace space = Space(R"({"x": {"uniform": [0, 1]}})");
  for (const char* const search :
       {R"({"algorithm": "tpe"})", R"({"algorithm": "cmaes"})", R"({"algorithm": "bohb"})",
        R"({"algorithm": "gp"})", R"({"algorithm": "auto"})",
        R"({"algorithm": "tpe", "repeat": 2})", R"({"algorithm": "random", "unique": true})"}) {
    const auto make = [&] {
      auto made =
          MakeSearcher(*ParseJson(search),
                       {.space = space, .modes = {Mode::kMin}, .seed = 3, .history = Parabola()});
      EXPECT_TRUE(made.ok()) << made.status().message();
      return *std::move(made);
    };
    const auto first = make();
    const auto second = make();
    for (int64_t n = 0; n < 12; ++n) {
      const auto configuration = first->Suggest(TrialNumber{n});
      ASSERT_TRUE(configuration) << search;
      if (n < 6) {
        second->Restore(TrialNumber{n}, *configuration);
      } else {
        EXPECT_EQ(second->Suggest(TrialNumber{n}), configuration) << search << " " << n;
      }
      const Metric value = configuration->Find("x")->AsDouble();
      for (const auto& searcher : {first.get(), second.get()}) {
        searcher->OnTrialEnded(TrialNumber{n}, {&value, 1}, false);
      }
    }
  }
}

TEST(History, UniqueLeavesOutWhatWasTriedElseItMayComeAgain) {
  const SearchSpace space = Space(R"({"a": {"choice": [1, 2, 3]}})");
  std::vector<EarlierTrial> history(1);
  history[0].configuration = Flat(R"([["a", 2]])");
  history[0].reports = {{1, {0.5}}};
  const auto all = [&](std::string_view search) {
    const auto searcher =
        *MakeSearcher(*ParseJson(search), {.space = space, .seed = 1, .history = history});
    std::set<int64_t> values;
    for (int64_t n = 0; n < 5; ++n) {
      const auto configuration = searcher->Suggest(TrialNumber{n});
      if (configuration) values.insert(configuration->Find("a")->AsInt());
    }
    return values;
  };
  for (const std::string algorithm : {"tpe", "bohb", "gp", "random", "grid"}) {
    EXPECT_EQ(all(R"({"algorithm": ")" + algorithm + R"(", "unique": true})"),
              (std::set<int64_t>{1, 3}))
        << algorithm;
  }
  EXPECT_EQ(all(R"({"algorithm": "tpe"})"), (std::set<int64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace tune
