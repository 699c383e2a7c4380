// What a person guesses of a parameter, and what searchers make of it (search/belief.h).
#include "search/belief.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "search/points.h"
#include "search/searcher.h"

namespace tune {
namespace {

using testing::HasSubstr;

Domain Make(std::string_view json) {
  Result<Domain> domain = Domain::Parse(*ParseJson(json));
  EXPECT_TRUE(domain.ok()) << domain.status().message();
  return *std::move(domain);
}

SearchSpace Space(std::string_view space, std::string_view constraints = "null") {
  Result<SearchSpace> parsed = SearchSpace::Parse(*ParseJson(space), *ParseJson(constraints));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return *std::move(parsed);
}

std::unique_ptr<Searcher> MakeSearch(std::string_view search, const SearchSpace& space,
                                     std::vector<Configuration> points = {}) {
  auto made = MakeSearcher(*ParseJson(search), {.space = space,
                                                .modes = {Mode::kMin},
                                                .samples = 40,
                                                .seed = 3,
                                                .points = std::move(points)});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::string Text(const std::optional<Configuration>& configuration) {
  return configuration ? ToJson(configuration->ToNested()) : "exhausted";
}

const std::vector<std::string> kGuessed = {
    R"({"loguniform": [1e-5, 0.1], "guess": 3e-4})",
    R"({"uniform": [0, 1], "guess": 0})",
    R"({"randint": [0, 9], "guess": 8})",
    R"({"ordinal": [1, 2, 4], "guess": 4})",
    R"({"choice": ["a", "b", "c"], "guess": "b"})",
    R"({"choice": ["a", "b"], "weights": [1, 9], "guess": "a"})"};

TEST(Belief, IsADensityThatIsHighestAtTheGuess) {
  for (const std::string& json : kGuessed) {
    const Domain domain = Make(json);
    const Belief belief(domain);
    constexpr int kSteps = 30'000;
    double mass = 0;
    double highest = 0;
    double at = 0;
    for (int i = 0; i < kSteps; ++i) {
      const double x = (i + 0.5) / kSteps;
      const double density = std::exp(belief.LogDensity(x).value);
      mass += density / kSteps;
      if (density > highest) highest = density, at = x;
    }
    EXPECT_NEAR(mass, 1, 1e-4) << json;
    const UnitCell cell = *domain.ToUnit(*domain.guess());
    EXPECT_GE(at, cell.lo - 1e-4) << json;
    EXPECT_LE(at, cell.hi + 1e-4) << json;
    EXPECT_GT(highest, 1.5) << json;
  }
}

TEST(Belief, TheQuantileUndoesTheMassBelow) {
  for (const std::string& json : kGuessed) {
    const Belief belief(Make(json));
    constexpr int kSteps = 30'000;
    double mass = 0;
    for (int i = 0; i < kSteps; ++i) {
      if (i % 1000 == 500) {
        EXPECT_NEAR(belief.Quantile(mass), static_cast<double>(i) / kSteps, 1e-3) << json;
      }
      mass += std::exp(belief.LogDensity((i + 0.5) / kSteps).value) / kSteps;
    }
    EXPECT_GE(belief.Quantile(0), 0);
    EXPECT_LE(belief.Quantile(1), 1);
  }
}

TEST(Belief, TheSlopeIsTheDerivative) {
  const Belief belief(Make(R"({"uniform": [0, 1], "guess": 0.3})"));
  for (const double x : {0.01, 0.2, 0.3, 0.37, 0.9}) {
    const double h = 1e-6;
    const double by_difference =
        (belief.LogDensity(x + h).value - belief.LogDensity(x - h).value) / (2 * h);
    EXPECT_NEAR(belief.LogDensity(x).slope, by_difference, 1e-5) << x;
  }
}

TEST(Belief, FadesWithWhatIsKnownAndIsDroppedWhereItIsWrong) {
  std::vector<double> near;
  std::vector<double> better;
  std::vector<double> worse;
  double before = Beliefs::WeightOf({}, {});
  for (int i = 0; i < 1000; ++i) {
    near.push_back(i % 17);
    better.push_back(-near.back() + 0.1 * (i % 5));
    worse.push_back(-better.back());
    if (i != 9 && i != 99 && i != 999) continue;
    EXPECT_LT(Beliefs::WeightOf(near, better), before);
    EXPECT_GT(Beliefs::WeightOf(near, better), 0);
    EXPECT_EQ(Beliefs::WeightOf(near, worse), 0);
    before = Beliefs::WeightOf(near, better);
  }
  EXPECT_EQ(Beliefs::WeightOf({1, 1, 1}, {3, 4, 5}), 0);
}

TEST(Guess, IsAValueOfTheDomainOrAnError) {
  EXPECT_EQ(*Make(R"({"randint": [0, 9], "guess": 8.0})").guess(), Value(int64_t{8}));
  const std::vector<std::pair<std::string, std::string>> errors = {
      {R"({"loguniform": [1e-5, 0.1], "guess": 3})",
       "guess: read 3, which is not in the parameter's domain, loguniform: [1e-05, 0.1]"},
      {R"({"randint": [0, 9], "guess": 9})", "not in the parameter's domain"},
      {R"({"randint": [0, 9], "guess": 1.5})", "not in the parameter's domain"},
      {R"({"choice": ["a", "b"], "guess": "c"})", "read 'c', which is not in"},
      {R"({"choice": ["a", "b"], "weights": [0, 1], "guess": "a"})",
       "not in the parameter's domain"},
      {R"({"uniform": [0, 1], "guess": [0.1, 0.2]})", "not in the parameter's domain"},
      {R"({"grid_search": [1, 2], "guess": 1})", "grid_search tries every value"}};
  for (const auto& [json, says] : errors) {
    const Result<Domain> domain = Domain::Parse(*ParseJson(json));
    ASSERT_FALSE(domain.ok()) << json;
    EXPECT_THAT(domain.status().message(), HasSubstr(says)) << json;
  }
}

TEST(Guess, TheFirstTrialHasAllThatCanExistSideBySide) {
  const SearchSpace space = Space(
      R"({"m": {"uniform": [0, 1], "guess": 0.9, "when": {"kind": "sgd"}},
          "b": {"uniform": [0, 1], "guess": 0.8, "when": {"kind": "adam"}},
          "kind": {"choice": ["adam", "sgd"], "guess": "sgd"}, "c": 3,
          "free": {"randint": [0, 9]}})");
  const auto guesses = GuessesOf(space);
  ASSERT_TRUE(guesses.ok() && *guesses);
  EXPECT_EQ(Text(*guesses), R"({"m":0.9,"kind":"sgd"})");
  for (const char* const algorithm : {"random", "sobol", "tpe", "gp", "cmaes", "auto"}) {
    const auto searcher =
        MakeSearch(R"({"algorithm": ")" + std::string(algorithm) + R"("})", space);
    const auto first = searcher->Suggest(TrialNumber{0});
    ASSERT_TRUE(first) << algorithm;
    EXPECT_EQ(*first->Find("m"), Value(0.9)) << algorithm;
    EXPECT_EQ(*first->Find("kind"), Value("sgd")) << algorithm;
  }
}

TEST(Guess, IsTriedFirstWhereAConditionOrAConstraintLooksAtAConstant) {
  const SearchSpace pinned = Space(R"({"kind": "sgd", "x": {"uniform": [0, 1], "guess": 0.25},
                                       "momentum": {"const": 0.9, "when": {"kind": "sgd"}}})");
  const SearchSpace bounded =
      Space(R"({"batch": 32, "x": {"uniform": [0, 1], "guess": 0.25}})", R"(["batch <= 64"])");
  for (const SearchSpace& space : {pinned, bounded}) {
    for (const char* const algorithm : {"random", "tpe", "gp"}) {
      const auto searcher =
          MakeSearch(R"({"algorithm": ")" + std::string(algorithm) + R"("})", space);
      EXPECT_EQ(*searcher->Suggest(TrialNumber{0})->Find("x"), Value(0.25)) << algorithm;
    }
    const auto older = MakeSearcher(
        Value(), {.space = space, .samples = 4, .seed = 1, .rules = SearchRules::kFrom15});
    ASSERT_TRUE(older.ok());
    EXPECT_NE(*(*older)->Suggest(TrialNumber{0})->Find("x"), Value(0.25))
        << "a sweep of an older build";
  }
}

TEST(Guess, ComesAfterThePoints) {
  const SearchSpace space = Space(R"({"x": {"uniform": [0, 1], "guess": 0.25}})");
  const auto points = ReadPoints(*ParseJson(R"([{"x": 0.75}])"), space);
  for (const char* const search : {R"({"algorithm": "random"})", R"({"algorithm": "gp"})"}) {
    const auto searcher = MakeSearch(search, space, *points);
    EXPECT_EQ(Text(searcher->Suggest(TrialNumber{0})), R"({"x":0.75})");
    EXPECT_EQ(Text(searcher->Suggest(TrialNumber{1})), R"({"x":0.25})");
    EXPECT_NE(Text(searcher->Suggest(TrialNumber{2})), R"({"x":0.25})");
  }
}

TEST(Guess, IsNotTriedTwiceWhereItIsAmongThePoints) {
  const SearchSpace space = Space(R"({"x": {"randint": [0, 4], "guess": 2}})");
  const auto points = ReadPoints(*ParseJson(R"([{"x": 2}])"), space);
  const auto searcher = MakeSearch(R"({"algorithm": "tpe"})", space, *points);
  EXPECT_EQ(Text(searcher->Suggest(TrialNumber{0})), R"({"x":2})");
  for (int64_t n = 1; n < 4; ++n) {
    EXPECT_NE(Text(searcher->Suggest(TrialNumber{n})), R"({"x":2})") << n;
  }
}

TEST(Guess, AGridIsGoneThroughWhollyAndInOrder) {
  const SearchSpace space = Space(R"({"n": {"randint": [0, 4], "guess": 2}})");
  for (const char* const search : {R"({"algorithm": "grid"})", R"({"algorithm": "auto"})"}) {
    const auto searcher = MakeSearch(search, space);
    for (int64_t n = 0; n < 4; ++n) {
      EXPECT_EQ(Text(searcher->Suggest(TrialNumber{n})), R"({"n":)" + std::to_string(n) + "}");
    }
    EXPECT_EQ(TrialCount(*ParseJson(search), space, 4), 4);
  }
}

TEST(Guess, GuessesThatTheConstraintsForbidAreAnError) {
  const SearchSpace space =
      Space(R"({"a": {"randint": [0, 9], "guess": 8}, "b": {"randint": [0, 9], "guess": 8}})",
            R"(["a + b <= 10"])");
  const auto made = MakeSearcher(Value(), {.space = space, .samples = 4, .seed = 1});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(
      made.status().message(),
      HasSubstr(
          R"(guess: the constraints allow no configuration that has the guesses {"a":8,"b":8})"));
}

TEST(Guess, DrawsTheFirstTrialsOfGpAndIsForgottenWhereItIsWrong) {
  const SearchSpace space = Space(R"({"x": {"uniform": [0, 1], "guess": 0.8}})");
  const auto searcher = MakeSearch(R"({"algorithm": "gp"})", space);
  int near_first = 0;
  int near_last = 0;
  double best = 1;
  for (int64_t n = 0; n < 40; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    ASSERT_TRUE(configuration);
    const double x = configuration->Find("x")->AsDouble();
    const bool is_near = std::abs(x - 0.8) < 0.15;
    if (n < 10) near_first += is_near ? 1 : 0;
    if (n >= 20) near_last += is_near ? 1 : 0;
    const Metric loss = std::abs(x - 0.2);
    best = std::min(best, *loss);
    searcher->OnTrialEnded(TrialNumber{n}, {&loss, 1}, false);
  }
  EXPECT_GE(near_first, 5);  // Without a guess it would be 3.
  EXPECT_LE(near_last, 6);
  EXPECT_LT(best, 0.01);
}

TEST(Guess, WhereTrialsFailItIsTrustedNoMore) {
  const SearchSpace space = Space(R"({"x": {"uniform": [0, 1], "guess": 0.8}})");
  const auto searcher = MakeSearch(R"({"algorithm": "gp"})", space);
  int elsewhere = 0;
  for (int64_t n = 0; n < 30; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    ASSERT_TRUE(configuration);
    const double x = configuration->Find("x")->AsDouble();
    const Metric loss = x;
    searcher->OnTrialEnded(TrialNumber{n}, {&loss, 1}, /*failed=*/x > 0.1);
    if (n >= 10 && std::abs(x - 0.8) > 0.3) ++elsewhere;
  }
  EXPECT_GE(elsewhere, 10);
}

}  // namespace
}  // namespace tune
