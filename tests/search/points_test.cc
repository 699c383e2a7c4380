// Configurations that are tried first, and configurations that are tried several times.
#include "search/points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "search/repeat_searcher.h"
#include "search/searcher.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kSpace[] =
    R"({"opt": {"kind": {"choice": ["adam", "sgd"]},
                "beta": {"uniform": [0.5, 1], "when": {"kind": "adam"}},
                "momentum": {"constant": 0.9, "when": {"kind": "sgd"}},
                "nesterov": {"choice": [true, false], "when": {"momentum": 0.9}}},
        "n": {"randint": [1, 9]}, "q": {"quniform": [0, 1, 0.1]}, "k": 3,
        "m": {"choice": [{"a": 1}, {"a": 2}]}})";
constexpr char kConstraints[] = R"(["n * q <= 4", "opt.beta > 0.6"])";

SearchSpace Space(std::string_view space = kSpace, std::string_view constraints = kConstraints) {
  const Result<Value> tree = ParseJson(space);
  const Result<Value> list = ParseJson(constraints);
  EXPECT_TRUE(tree.ok() && list.ok()) << space;
  Result<SearchSpace> parsed = SearchSpace::Parse(*tree, *list);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return *std::move(parsed);
}

std::vector<Configuration> Points(std::string_view json, const SearchSpace& space) {
  auto points = ReadPoints(*ParseJson(json), space);
  EXPECT_TRUE(points.ok()) << points.status().message();
  return *std::move(points);
}

std::string ErrorOf(std::string_view point) {
  const auto points = ReadPoints(*ParseJson("[" + std::string(point) + "]"), Space());
  EXPECT_FALSE(points.ok()) << point;
  return points.status().message();
}

std::unique_ptr<Searcher> Make(std::string_view search, const SearchSpace& space,
                               std::string_view points) {
  auto made =
      MakeSearcher(*ParseJson(search),
                   {.space = space, .samples = 10, .seed = 1, .points = Points(points, space)});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::string Text(const std::optional<Configuration>& configuration) {
  return configuration ? ToJson(configuration->ToNested()) : "exhausted";
}

TEST(ReadPoints, TakesNestedAndFlatNamesInTheSpacesOrderAndTheDomainsValues) {
  const auto points = Points(
      R"([{"n": 2.0, "opt": {"beta": 1e0, "kind": "adam"}}, {"opt.kind": "sgd", "opt/nesterov": true},
          {"q": 0.30000000000000004, "k": 3, "m": {"a": 2.0}}, {}])",
      Space(R"({"opt": {"kind": {"choice": ["adam", "sgd"]}, "beta": {"quniform": [0, 1, 0.5]},
                 "nesterov": {"choice": [true, false]}}, "n": {"randint": [1, 9]}, "k": 3.0,
                 "q": {"quniform": [0, 1, 0.1]}, "m": {"choice": [{"a": 1}, {"a": 2.0}]}})",
            "null"));
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(ToJson(points[0].ToFlat()), R"([["opt/kind","adam"],["opt/beta",1.0],["n",2]])");
  EXPECT_EQ(ToJson(points[1].ToFlat()), R"([["opt/kind","sgd"],["opt/nesterov",true]])");
  EXPECT_EQ(ToJson(points[2].ToFlat()), R"([["k",3.0],["q",0.3],["m",{"a":2.0}]])");
  EXPECT_TRUE(points[3].parameters().empty());
}

TEST(ReadPoints, WhatIsNotOfTheSpaceIsToldWithItsName) {
  EXPECT_EQ(ErrorOf(R"({"opt": {"kidn": "adam"}})"),
            "points: there is no parameter 'opt/kidn'; did you mean 'opt/kind'?");
  EXPECT_THAT(ErrorOf(R"({"nn": {"kind": 1}})"), HasSubstr("there is no parameter 'nn'"));
  EXPECT_EQ(ErrorOf(R"({"n": 9})"),
            "points: 'n': read 9, which is not in its domain, randint: [1, 9]");
  EXPECT_THAT(ErrorOf(R"({"opt": {"kind": "adamw"}})"),
              HasSubstr(R"(not in its domain, choice: ["adam", "sgd"])"));
  EXPECT_THAT(ErrorOf(R"({"k": 4})"), HasSubstr("'k' is always 3, read 4"));
  EXPECT_THAT(ErrorOf(R"({"opt": {"kind": "sgd"}, "opt.kind": "sgd"})"),
              HasSubstr("'opt/kind' is named twice"));
  EXPECT_THAT(ErrorOf("3"), HasSubstr("points: read 3, expected a map"));
  EXPECT_THAT(ReadPoints(*ParseJson("{}"), Space()).status().message(),
              HasSubstr("read a map, expected a list"));
}

TEST(ReadPoints, AParameterNeedsWhatItDependsOn) {
  EXPECT_THAT(ErrorOf(R"({"opt": {"beta": 0.7}})"),
              HasSubstr(R"('opt/beta' exists only where 'opt/kind' is "adam"; name that too)"));
  EXPECT_THAT(ErrorOf(R"({"opt": {"beta": 0.7, "kind": "sgd"}})"),
              HasSubstr(R"('opt/beta' exists only where 'opt/kind' is "adam"; here it is 'sgd')"));
  // Through a constant that nobody names.
  EXPECT_THAT(ErrorOf(R"({"opt": {"nesterov": true}})"),
              HasSubstr(R"('opt/momentum' exists only where 'opt/kind' is "sgd"; name that too)"));
  Points(R"([{"opt": {"nesterov": true, "kind": "sgd"}}])", Space());
}

TEST(ReadPoints, ConstraintsHoldOrCanHold) {
  EXPECT_EQ(ErrorOf(R"({"n": 8, "q": 1})"), "points: 'n * q <= 4' is not satisfied");
  EXPECT_THAT(ErrorOf(R"({"opt": {"kind": "adam", "beta": 0.6}})"), HasSubstr("'opt.beta > 0.6'"));
  const SearchSpace sum =
      Space(R"({"a": {"randint": [0, 9]}, "b": {"randint": [0, 3]}})", R"(["a + b == 8"])");
  EXPECT_THAT(ReadPoints(*ParseJson(R"([{"a": 3}])"), sum).status().message(),
              HasSubstr("with these values the constraints cannot be satisfied"));
  Points(R"([{"a": 7}])", sum);
}

TEST(Points, WhatCompletesThemIsNotDrawnAgainAfterThem) {
  const SearchSpace space = Space(R"({"x": {"uniform": [0, 1]}, "n": {"choice": [1, 2]}})", "null");
  const auto searcher = Make("null", space, R"([{"n": 1}, {}])");
  std::set<double> all;
  for (int64_t n = 0; n < 4; ++n) {
    all.insert(searcher->Suggest(TrialNumber{n})->Find("x")->AsDouble());
  }
  EXPECT_EQ(all.size(), 4u);
}

TEST(Points, ComeFirstAndPartialOnesAreCompletedAtRandom) {
  const SearchSpace space = Space();
  const auto searcher = Make("null", space, R"([{"n": 4, "q": 1}, {"n": 4}, {"n": 4}])");
  const auto plain = Make("null", space, "null");
  std::set<std::string> all;
  for (int64_t n = 0; n < 3; ++n) {
    const Configuration c = *searcher->Suggest(TrialNumber{n});
    EXPECT_EQ(*c.Find("n"), Value(4));
    EXPECT_TRUE(space.Allows(c));
    all.insert(Text(c));
  }
  EXPECT_EQ(all.size(), 3u);
  EXPECT_EQ(*searcher->Suggest(TrialNumber{0})->Find("q"), Value(1.0));
  // The search itself begins after them.
  EXPECT_EQ(Text(searcher->Suggest(TrialNumber{3})), Text(plain->Suggest(TrialNumber{0})));
}

TEST(Points, AreCompletedWhereHardlyAnythingIsAllowed) {
  const SearchSpace space = Space(R"({"a": {"randint": [0, 5000]}, "b": {"randint": [0, 5000]}})",
                                  R"(["a + b == 5000"])");
  const auto searcher = Make("null", space, R"([{"a": 1234}])");
  EXPECT_EQ(Text(searcher->Suggest(TrialNumber{0})), R"({"a":1234,"b":3766})");
}

TEST(Points, AGridIsGoneThroughWhollyAfterThem) {
  const SearchSpace space = Space(R"({"a": {"choice": [1, 2]}})", "null");
  const Value grid = *ParseJson(R"({"algorithm": "grid"})");
  const auto searcher = Make(ToJson(grid), space, R"([{"a": 2}])");
  EXPECT_EQ(TrialCount(grid, space, -1, 1), 3);
  EXPECT_EQ(TrialCount(grid, space, 2, 1), 2);
  std::vector<std::string> all;
  for (int64_t n = 0; n < 4; ++n) all.push_back(Text(searcher->Suggest(TrialNumber{n})));
  EXPECT_THAT(all, ElementsAre(R"({"a":2})", R"({"a":1})", R"({"a":2})", "exhausted"));
}

TEST(Points, CountAmongTheSamplesUnlessThereIsAGrid) {
  EXPECT_EQ(TrialCount(Value(), Space(), 10, 3), 10);
  EXPECT_EQ(TrialCount(Value(), Space(R"({"a": {"grid_search": [1, 2]}})", "null"), 10, 3), 23);
}

// Conditions and constraints look at constants there: for a search that is no grid.
TEST(Points, CountAmongTheSamplesWhereAConditionOrAConstraintLooksAtAConstant) {
  const SearchSpace pinned = Space(R"({"kind": "sgd", "x": {"uniform": [0, 1]},
                                       "momentum": {"const": 0.9, "when": {"kind": "sgd"}}})",
                                   "null");
  const SearchSpace bounded =
      Space(R"({"batch": 32, "x": {"uniform": [0, 1]}})", R"(["batch <= 64"])");
  for (const SearchSpace& space : {pinned, bounded}) {
    EXPECT_EQ(TrialCount(Value(), space, 10, 3), 10);
    EXPECT_EQ(TrialCount(Value(), space, 10, 3, SearchRules::kFrom15), 13)
        << "a sweep of an older build";
  }
}

TEST(Points, OnesThatAreUniqueAreNotRepeatedByTheSearch) {
  const SearchSpace space = Space(R"({"a": {"choice": [1, 2, 3]}})", "null");
  const auto searcher = Make(R"({"algorithm": "grid", "unique": true})", space, R"([{"a": 2}])");
  std::set<std::string> all;
  for (int64_t n = 0; n < 3; ++n) all.insert(Text(searcher->Suggest(TrialNumber{n})));
  EXPECT_EQ(all.size(), 3u);
  EXPECT_EQ(Text(searcher->Suggest(TrialNumber{3})), "exhausted");
}

constexpr const char* kLearning[] = {"tpe", "gp", "cmaes", "nsga2"};

std::string Unique(std::string_view algorithm) {
  return R"({"algorithm": ")" + std::string(algorithm) + R"(", "unique": true})";
}

TEST(Points, OnesThatAreUniqueGiveWayWhereTheyRepeatOneAndTheSearchLearns) {
  const SearchSpace space = Space(R"({"a": {"randint": [0, 8]}})", "null");
  for (const char* const algorithm : kLearning) {
    const auto searcher = Make(Unique(algorithm), space, R"([{"a": 2}, {"a": 2}, {"a": 5}])");
    std::vector<std::string> all;
    for (int64_t n = 0; n < 8; ++n) all.push_back(Text(searcher->Suggest(TrialNumber{n})));
    EXPECT_EQ(all[0], R"({"a":2})") << algorithm;
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), 8u) << algorithm;
    EXPECT_EQ(Text(searcher->Suggest(TrialNumber{8})), "exhausted") << algorithm;
  }
}

TEST(Points, OnesThatAreUniqueGiveWayAlsoToThoseOfAnEarlierLifeAndAnEarlierSweep) {
  const SearchSpace space = Space(R"({"a": {"randint": [0, 8]}})", "null");
  const std::vector<Configuration> points = Points(R"([{"a": 2}, {"a": 4}, {"a": 2}])", space);
  for (const char* const algorithm : kLearning) {
    const auto made =
        MakeSearcher(*ParseJson(Unique(algorithm)), {.space = space,
                                                     .samples = 10,
                                                     .seed = 1,
                                                     .points = points,
                                                     .history = {{points[1], {}, false}}});
    ASSERT_TRUE(made.ok()) << made.status().message();
    (*made)->Restore(TrialNumber{0}, points[0]);
    std::set<std::string> all = {Text(points[0]), Text(points[1])};
    for (int64_t n = 1; n < 7; ++n) {
      const std::string text = Text((*made)->Suggest(TrialNumber{n}));
      EXPECT_TRUE(all.insert(text).second) << algorithm << " " << text;
    }
    EXPECT_EQ(Text((*made)->Suggest(TrialNumber{7})), "exhausted") << algorithm;
  }
}

TEST(Points, OnesThatAreUniqueAreTriedAsOftenAsTheyWereInASweepOfAnOlderBuild) {
  const SearchSpace space = Space(R"({"a": {"randint": [0, 8]}})", "null");
  const auto made =
      MakeSearcher(*ParseJson(Unique("tpe")), {.space = space,
                                               .samples = 10,
                                               .seed = 1,
                                               .points = Points(R"([{"a": 2}, {"a": 2}])", space),
                                               .rules = SearchRules::kFrom15});
  ASSERT_TRUE(made.ok()) << made.status().message();
  for (int64_t n = 0; n < 2; ++n) {
    EXPECT_EQ(Text((*made)->Suggest(TrialNumber{n})), R"({"a":2})");
  }
}

TEST(Points, AnAlgorithmThatIsChosenForTheSpaceHasThemOnce) {
  const SearchSpace space = Space(R"({"a": {"choice": [1, 2, 3]}})", "null");  // A grid.
  const auto searcher = Make(R"({"algorithm": "auto"})", space, R"([{"a": 2}, {"a": 3}])");
  std::vector<std::string> all;
  for (int64_t n = 0; n < 5; ++n) all.push_back(Text(searcher->Suggest(TrialNumber{n})));
  EXPECT_THAT(all,
              ElementsAre(R"({"a":2})", R"({"a":3})", R"({"a":1})", R"({"a":2})", R"({"a":3})"));
}

TEST(Points, OneThatLearnsHearsOfThem) {
  // It would go on to repeat them if it did not.
  const SearchSpace space = Space(R"({"a": {"choice": [1, 2, 3]}})", "null");
  const auto searcher = Make(R"({"algorithm": "tpe"})", space, R"([{"a": 2}, {"a": 1}])");
  const Metric value = 1;
  for (int64_t n = 0; n < 2; ++n) {
    searcher->Suggest(TrialNumber{n});
    searcher->OnTrialEnded(TrialNumber{n}, {&value, 1}, false);
  }
  EXPECT_EQ(Text(searcher->Suggest(TrialNumber{2})), R"({"a":3})");
  EXPECT_EQ(Text(searcher->Suggest(TrialNumber{3})), "exhausted");
}

// Answers with its number and writes down what it is told.
class Listener final : public Searcher {
 public:
  explicit Listener(std::vector<std::string>* heard) : heard_(heard) {}
  std::optional<Configuration> Suggest(TrialNumber number) override {
    if (number.value == 2) return std::nullopt;
    Configuration configuration;
    configuration.Set("x", Value(number.value));
    return configuration;
  }
  void Restore(TrialNumber number, const Configuration&) override { Write("restored", number); }
  void OnReport(TrialNumber number, int64_t iteration, Objectives values) override {
    Write("at " + std::to_string(iteration) + " " + Shown(values) + " of", number);
  }
  void OnTrialEnded(TrialNumber number, Objectives last, bool failed) override {
    Write((failed ? "failed " : "ended ") + Shown(last) + " of", number);
  }
  void OnDuration(TrialNumber number, double seconds) override {
    Write(ToJson(Value(seconds)) + " s of", number);
  }
  void OnReopened(TrialNumber number) override { Write("reopened", number); }
  bool LearnsFromResults() const override { return true; }
  std::string DebugString() const override { return "listener"; }

 private:
  static std::string Shown(Objectives values) {
    return values[0] ? ToJson(Value(*values[0])) : "none";
  }
  void Write(const std::string& what, TrialNumber number) {
    heard_->push_back(what + " " + std::to_string(number.value));
  }
  std::vector<std::string>* heard_;
};

class Repeat : public testing::Test {
 protected:
  std::string At(int64_t number) { return Text(searcher.Suggest(TrialNumber{number})); }
  void Report(int64_t number, int64_t iteration, Metric value) {
    searcher.OnReport(TrialNumber{number}, iteration, {&value, 1});
  }
  void End(int64_t number, Metric last, bool failed = false) {
    searcher.OnTrialEnded(TrialNumber{number}, {&last, 1}, failed);
  }

  std::vector<std::string> heard;
  RepeatSearcher searcher{std::make_unique<Listener>(&heard), 2, {Mode::kMax}};
};

// Hears what is said of one limit.
class LimitListener final : public Searcher {
 public:
  explicit LimitListener(std::vector<Metric>* heard) : heard_(heard) {}
  std::optional<Configuration> Suggest(TrialNumber) override { return Configuration(); }
  void Restore(TrialNumber, const Configuration&) override {}
  void OnReport(TrialNumber, int64_t, Objectives values) override { heard_->push_back(values[1]); }
  void OnTrialEnded(TrialNumber, Objectives last, bool) override { heard_->push_back(last[1]); }
  bool LearnsFromResults() const override { return true; }
  std::string DebugString() const override { return "limit listener"; }

 private:
  std::vector<Metric>* heard_;
};

// What is heard at a report of all runs and at the end: one run has each margin.
std::vector<Metric> HeardOfLimit(const std::vector<Metric>& margins,
                                 SearchRules rules = SearchRules::kFrom14) {
  std::vector<Metric> heard;
  RepeatSearcher searcher{std::make_unique<LimitListener>(&heard),
                          static_cast<int64_t>(margins.size()),
                          {Mode::kMax},
                          rules};
  for (const bool is_end : {false, true}) {
    for (size_t i = 0; i < margins.size(); ++i) {
      const TrialNumber number{static_cast<int64_t>(i)};
      searcher.Suggest(number);
      const Metric values[] = {0.5, margins[i]};
      if (is_end) {
        searcher.OnTrialEnded(number, values, false);
      } else {
        searcher.OnReport(number, 1, values);
      }
    }
  }
  return heard;
}

TEST(RepeatedLimits, ALimitThatOneRunBreaksIsBrokenByTheMeanViolation) {
  EXPECT_THAT(HeardOfLimit({-0.5, -0.25, 0.75}), ElementsAre(Metric(0.25), Metric(0.25)));
  EXPECT_THAT(HeardOfLimit({-0.5, -0.25, 0.0}), ElementsAre(Metric(-0.25), Metric(-0.25)));
}

TEST(RepeatedLimits, NobodyCanTellWhereNobodyCanTellOfOneRun) {
  EXPECT_THAT(HeardOfLimit({-0.5, std::nullopt}), ElementsAre(Metric(), Metric()));
}

TEST(RepeatedLimits, SweepsOfEarlierVersionsHearTheMeanMargin) {
  EXPECT_THAT(HeardOfLimit({-0.5, -0.25, 0.75}, SearchRules::kFrom13),
              ElementsAre(Metric(0.0), Metric(0.0)));
  EXPECT_THAT(HeardOfLimit({-0.5, std::nullopt}, SearchRules::kFrom13),
              ElementsAre(Metric(-0.5), Metric(-0.5)));
}

TEST_F(Repeat, EachConfigurationIsTriedInConsecutiveTrials) {
  EXPECT_EQ(At(0), R"({"x":0})");
  EXPECT_EQ(At(1), R"({"x":0})");
  EXPECT_EQ(At(2), R"({"x":1})");
  EXPECT_EQ(At(3), R"({"x":1})");
  EXPECT_EQ(At(4), "exhausted");
  EXPECT_EQ(At(5), "exhausted");
}

TEST_F(Repeat, TheMeanIsHeardOnceAllHaveSpoken) {
  At(0), At(1);
  Report(0, 1, 1.0);
  Report(0, 2, 5.0);
  Report(1, 1, 2.0);
  EXPECT_THAT(heard, ElementsAre("at 1 1.5 of 0"));
  End(0, 4.0);  // Its best was 5.
  EXPECT_EQ(heard.size(), 1u);
  Report(1, 2, std::nullopt);
  End(1, 3.0);
  EXPECT_THAT(heard, ElementsAre("at 1 1.5 of 0", "at 2 5.0 of 0", "ended 4.0 of 0"));
}

TEST_F(Repeat, OfBothInfinitiesThereIsNoMean) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  At(0), At(1);
  Report(0, 1, kInf);
  Report(1, 1, -kInf);
  End(0, kInf);
  End(1, -kInf);
  EXPECT_THAT(heard, ElementsAre("at 1 none of 0", "ended none of 0"));
}

TEST_F(Repeat, FailuresDoNotCountUnlessAllFail) {
  At(0), At(1), At(2), At(3);
  Report(0, 1, 9.0);
  End(0, 9.0, true);
  End(1, 2.0);
  End(2, std::nullopt, true);
  End(3, std::nullopt, true);
  EXPECT_THAT(heard, ElementsAre("ended 2.0 of 0", "failed none of 1"));
}

TEST_F(Repeat, AFailedTrialThatIsTriedAgainCountsThen) {
  At(0), At(1);
  End(0, 1.0);
  End(1, std::nullopt, true);
  Report(1, 1, 3.0);
  End(1, 3.0);
  EXPECT_THAT(heard, ElementsAre("ended 1.0 of 0", "ended 2.0 of 0"));
}

TEST_F(Repeat, TheEndIsHeardAgainOnceAllThatWereOpenedAgainHaveEndedAgain) {
  At(0), At(1);
  for (int64_t n = 0; n < 2; ++n) {
    searcher.OnDuration(TrialNumber{n}, 10);
    End(n, std::nullopt, true);
  }
  heard.clear();
  searcher.OnReopened(TrialNumber{0});
  searcher.OnReopened(TrialNumber{1});
  EXPECT_THAT(heard, ElementsAre("reopened 0"));
  searcher.OnDuration(TrialNumber{1}, 14);  // In all.
  End(1, 3.0);
  EXPECT_THAT(heard, ElementsAre("reopened 0"));
  searcher.OnDuration(TrialNumber{0}, 12);
  End(0, 1.0);
  EXPECT_THAT(heard, ElementsAre("reopened 0", "26.0 s of 0", "ended 2.0 of 0"));
}

TEST_F(Repeat, ThatARunIsOpenedAgainIsNotHeardWhileOthersHaveNotEnded) {
  At(0), At(1);
  Report(0, 1, 5.0);
  End(0, 5.0, true);
  searcher.OnReopened(TrialNumber{0});
  End(1, 3.0);
  EXPECT_THAT(heard, ElementsAre());
  End(0, 4.0);  // Its best was 5, before it failed.
  EXPECT_THAT(heard, ElementsAre("ended 4.0 of 0"));
}

TEST_F(Repeat, AnEarlierLifeIsRestoredConfigurationByConfiguration) {
  Configuration configuration;
  configuration.Set("x", Value(7));
  searcher.Restore(TrialNumber{0}, configuration);
  searcher.Restore(TrialNumber{1}, configuration);
  searcher.Restore(TrialNumber{2}, configuration);
  EXPECT_EQ(At(3), R"({"x":7})");
  EXPECT_THAT(heard, ElementsAre("restored 0", "restored 1"));
}

TEST(RepeatOption, MultipliesTheTrialsOfEveryAlgorithm) {
  const SearchSpace space = Space(R"({"a": {"choice": [1, 2]}})", "null");
  EXPECT_EQ(TrialCount(*ParseJson(R"({"algorithm": "random", "repeat": 3})"), space, 5), 15);
  EXPECT_EQ(TrialCount(*ParseJson(R"({"algorithm": "grid", "repeat": 3})"), space, -1), 6);
  EXPECT_EQ(TrialCount(*ParseJson(R"({"algorithm": "random", "repeat": 3})"), space, -1), -1);
  const auto made = MakeSearcher(*ParseJson(R"({"algorithm": "random", "repeat": 0})"),
                                 {.space = space, .seed = 1});
  EXPECT_THAT(made.status().message(), HasSubstr("repeat: read 0, expected an integer from 1"));
  const auto many = MakeSearcher(*ParseJson(R"({"algorithm": "random", "repeat": 1000})"),
                                 {.space = space, .samples = 100'000, .seed = 1});
  EXPECT_THAT(many.status().message(), HasSubstr("make more than 10000000 trials"));
  // Also where it is a grid that makes so many of few samples.
  const auto of_grid = MakeSearcher(*ParseJson(R"({"algorithm": "random", "repeat": 1000})"),
                                    {.space = Space(R"({"a": {"grid_search": [1, 2, 3]}})", "null"),
                                     .samples = 5'000,
                                     .seed = 1});
  EXPECT_THAT(of_grid.status().message(),
              HasSubstr("15000 configurations times 1000 make more than 10000000 trials"));
}

}  // namespace
}  // namespace tune
