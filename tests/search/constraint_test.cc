#include "search/constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "core/json.h"
#include "search/random_draws.h"
#include "search/satisfiable.h"
#include "search/searcher.h"
#include "search/space.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kNet[] =
    R"({"net": {"width": {"randint": [1, 9]}, "depth": {"choice": [2, 3.5]}},
        "kind": {"choice": ["adam", "sgd"]}, "beta": {"uniform": [0, 1], "when": {"kind": "adam"}},
        "mix": {"choice": ["a", 1, null]}, "flag": {"choice": [true, false]}, "k": 3})";

Result<SearchSpace> Parse(std::string_view space, std::string_view constraints) {
  const Result<Value> tree = ParseJson(space);
  const Result<Value> list = ParseJson(constraints);
  EXPECT_TRUE(tree.ok() && list.ok()) << space << constraints;
  return SearchSpace::Parse(*tree, *list);
}

SearchSpace Space(std::string_view space, std::string_view constraints) {
  Result<SearchSpace> parsed = Parse(space, constraints);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? *std::move(parsed) : SearchSpace();
}

std::string ErrorOf(std::string_view constraint) {
  const Result<SearchSpace> parsed = Parse(kNet, "[" + ToJson(Value(constraint)) + "]");
  EXPECT_FALSE(parsed.ok()) << constraint;
  return parsed.status().message();
}

bool Allows(std::string_view constraint, std::string_view flat) {
  const SearchSpace space = Space(kNet, "[" + ToJson(Value(constraint)) + "]");
  return space.Allows(*Configuration::FromFlat(*ParseJson(flat)));
}

TEST(Constraint, KnowsNestedParametersTextsAndBooleans) {
  EXPECT_TRUE(Allows("net.width * net.depth <= 14", R"([["net/width", 4], ["net/depth", 3.5]])"));
  EXPECT_FALSE(Allows("net.width * net.depth < 14", R"([["net/width", 4], ["net/depth", 3.5]])"));
  EXPECT_TRUE(Allows("kind != 'adam'", R"([["kind", "sgd"]])"));
  EXPECT_FALSE(Allows("mix == 'a' or flag", R"([["mix", null], ["flag", false]])"));
  EXPECT_TRUE(Allows("net.width == k", R"([["net/width", 3], ["k", 3]])"));
}

TEST(Constraint, ANameMayHaveADotWhereNoNestedOneIsMeant) {
  const SearchSpace space = Space(
      R"({"a.b": {"randint": [0, 9]}, "c": {"d": {"randint": [0, 9]}}, "c.d": {"randint": [0, 9]}})",
      R"(["a.b > 2", "c.d < 5"])");
  EXPECT_TRUE(space.Allows(*Configuration::FromFlat(*ParseJson(R"([["a.b", 3]])"))));
  EXPECT_FALSE(space.Allows(*Configuration::FromFlat(*ParseJson(R"([["a.b", 2]])"))));
  EXPECT_FALSE(space.Allows(*Configuration::FromFlat(*ParseJson(R"([["c/d", 7]])"))));
  EXPECT_TRUE(space.Allows(*Configuration::FromFlat(*ParseJson(R"([["c.d", 7]])"))));
}

TEST(Constraint, NanIsNotSatisfied) {
  EXPECT_FALSE(Allows("log(0 - net.width) < 1", R"([["net/width", 4]])"));
}

TEST(Constraint, OneThatNamesAParameterThatIsNotThereIsSatisfied) {
  EXPECT_FALSE(Allows("beta > 0.5", R"([["kind", "adam"], ["beta", 0.1]])"));
  EXPECT_TRUE(Allows("beta > 0.5", R"([["kind", "sgd"]])"));
}

TEST(Constraint, WhatItCannotBeIsToldWithItsColumn) {
  EXPECT_EQ(ErrorOf("net.width * net.dept < 3"),
            "constraints: column 13 of 'net.width * net.dept < 3': there is no parameter "
            "'net.dept'; did you mean 'net.depth'?");
  EXPECT_THAT(ErrorOf("1 + kind > 2"),
              HasSubstr("column 5 of '1 + kind > 2': 'kind' can be 'adam', which is no number"));
  EXPECT_THAT(ErrorOf("net.width == '3'"), HasSubstr("'net.width' is never a text"));
  EXPECT_THAT(ErrorOf("flag == 'true'"),
              HasSubstr("'flag' is never a text; write 1 for true and 0 for false"));
  EXPECT_THAT(ErrorOf("kind == 'adm'"), HasSubstr("'kind' is never 'adm'; did you mean 'adam'?"));
  EXPECT_THAT(ErrorOf("mix > 1"), HasSubstr("'mix' can be 'a', which is no number"));
  EXPECT_THAT(ErrorOf("beta == 'x'"), HasSubstr("'beta' is never a text"));
  EXPECT_THAT(ErrorOf("beta >"), HasSubstr("constraints: column 7 of 'beta >': read the end"));
  EXPECT_THAT(ErrorOf("1 < 2"), HasSubstr("'1 < 2' names no parameter"));
  EXPECT_THAT(Parse(kNet, "[3]").status().message(), HasSubstr("constraints: read 3, expected an"));
  EXPECT_THAT(Parse(kNet, "{}").status().message(), HasSubstr("read a map, expected a list"));
}

std::string Unsatisfied(std::string_view space, std::string_view constraints) {
  const Status status = CheckSatisfiable(Space(space, constraints));
  EXPECT_FALSE(status.ok());
  return status.message();
}

TEST(CheckSatisfiable, LooksAtEachCombinationOfWhatCanBeCounted) {
  constexpr char kGrid[] = R"({"a": {"randint": [0, 999]}, "b": {"randint": [0, 1000]},
                               "x": {"uniform": [0, 1]}})";
  EXPECT_TRUE(CheckSatisfiable(Space(kGrid, R"(["a * 1000 + b == 998999"])")).ok());
  EXPECT_EQ(Unsatisfied(R"({"a": {"randint": [0, 9]}, "x": {"uniform": [0, 1]},
                            "b": {"choice": [1, 2]}})",
                        R"(["a + b == 3.5"])"),
            "constraints: 'a + b == 3.5' is never satisfied, by none of the 18 combinations of "
            "'a', 'b'");
  EXPECT_EQ(Unsatisfied(R"({"a": {"randint": [0, 9]}})", R"(["a < 3", "a > 5"])"),
            "constraints: they are never all satisfied, by none of the 9 combinations of 'a'");
}

TEST(CheckSatisfiable, CountsConditionsInside) {
  // Where kind is sgd there is no n, and what names it is satisfied.
  constexpr char kConditional[] =
      R"({"kind": {"choice": ["adam", "sgd"]}, "n": {"randint": [0, 9], "when": {"kind": "adam"}}})";
  EXPECT_TRUE(CheckSatisfiable(Space(kConditional, R"(["n > 10"])")).ok());
  EXPECT_THAT(Unsatisfied(kConditional, R"(["n > 10", "kind == 'adam'"])"),
              HasSubstr("by none of the 10 combinations of 'kind', 'n'"));
}

TEST(CheckSatisfiable, TriesEndsAndDrawsOfWhatIsContinuous) {
  constexpr char kSquare[] = R"({"x": {"uniform": [0, 1]}, "y": {"loguniform": [1, 100]}})";
  EXPECT_TRUE(CheckSatisfiable(Space(kSquare, R"(["x == 0", "y == 1"])")).ok());
  EXPECT_TRUE(CheckSatisfiable(Space(kSquare, R"(["abs(x - 0.777) < 0.001"])")).ok());
  EXPECT_THAT(Unsatisfied(kSquare, R"(["x + y < 100", "x * y > 100"])"),
              HasSubstr("'x * y > 100' is never satisfied, by none of 100000 draws and the ends"));
}

TEST(RandomDraws, AreEvenOverWhatIsAllowed) {
  // One of 10 * 10 in five is allowed; each allowed pair is equally likely.
  RandomDraws draws(
      Space(R"({"a": {"randint": [0, 10]}, "b": {"randint": [0, 10]}})", R"(["a + b == 4"])"), 3);
  std::map<int64_t, int> counts;
  for (int64_t n = 0; n < 10'000; ++n) ++counts[draws.Allowed(TrialNumber{n})->Find("a")->AsInt()];
  ASSERT_EQ(counts.size(), 5u);
  for (const auto& [a, count] : counts) EXPECT_NEAR(count, 2000, 160) << a;  // 4 deviations.
}

TEST(RandomDraws, HardlyAnythingAllowedIsChosenByItsMass) {
  // 4 of 10^6 combinations; one of them is twice as likely.
  RandomDraws draws(Space(R"({"a": {"randint": [0, 1000]}, "b": {"randint": [0, 500]},
                "c": {"choice": [0, 1], "weights": [2, 1]}, "x": {"uniform": [0, 1]}})",
                          R"(["a + b == 1", "c == 0 or a == 0"])"),
                    3);
  std::map<std::string, int> counts;
  std::set<double> xs;
  for (int64_t n = 0; n < 1200; ++n) {
    const Configuration c = *draws.Allowed(TrialNumber{n});
    ++counts[ToJson(*c.Find("a")) + ToJson(*c.Find("c"))];
    xs.insert(c.Find("x")->AsDouble());
  }
  ASSERT_EQ(counts.size(), 3u);  // (0, 1, 0), (0, 1, 1), (1, 0, 0) with masses 2 : 1 : 2.
  EXPECT_NEAR(counts["00"], 480, 70);
  EXPECT_NEAR(counts["01"], 240, 56);
  EXPECT_NEAR(counts["10"], 480, 70);
  EXPECT_EQ(xs.size(), 1200u);
}

TEST(RandomDraws, AConstraintLeavesAllowedDrawsAsTheyWere) {
  constexpr char kSpace[] = R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})";
  RandomDraws free(Space(kSpace, "null"), 5);
  RandomDraws bound(Space(kSpace, R"(["x < y"])"), 5);
  int same = 0;
  for (int64_t n = 0; n < 100; ++n) {
    const Configuration plain = *free.Allowed(TrialNumber{n});
    const Configuration allowed = *bound.Allowed(TrialNumber{n});
    const bool is_allowed = plain.Find("x")->AsDouble() < plain.Find("y")->AsDouble();
    EXPECT_EQ(plain == allowed, is_allowed);
    same += is_allowed;
  }
  EXPECT_GT(same, 20);
}

std::unique_ptr<Searcher> Make(std::string_view search, const SearchSpace& space) {
  auto made = MakeSearcher(*ParseJson(search), {.space = space, .seed = 1});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::vector<std::string> All(std::string_view search, const SearchSpace& space) {
  const auto searcher = Make(search, space);
  std::vector<std::string> all;
  for (int64_t n = 0; n < 100; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    if (!configuration) break;
    all.push_back(ToJson(configuration->ToNested()));
  }
  return all;
}

TEST(GridSearcher, LeavesOutWhatIsNotAllowed) {
  const SearchSpace space = Space(
      R"({"a": {"choice": [1, 2, 3]}, "x": {"choice": ["p", "q"]}, "b": {"choice": [1, 2, 3]}})",
      R"(["a * b <= 3", "a != b"])");
  EXPECT_EQ(TrialCount(*ParseJson(R"({"algorithm": "grid"})"), space, -1), 8);
  EXPECT_THAT(All(R"({"algorithm": "grid"})", space),
              ElementsAre(R"({"a":1,"x":"p","b":2})", R"({"a":1,"x":"q","b":2})",
                          R"({"a":1,"x":"p","b":3})", R"({"a":1,"x":"q","b":3})",
                          R"({"a":2,"x":"p","b":1})", R"({"a":2,"x":"q","b":1})",
                          R"({"a":3,"x":"p","b":1})", R"({"a":3,"x":"q","b":1})"));
}

TEST(UniqueSearch, KnowsWhenAllThatIsAllowedWasHad) {
  const SearchSpace space =
      Space(R"({"a": {"randint": [0, 40]}, "b": {"randint": [0, 40]}})", R"(["a + b == 4"])");
  const Value search = *ParseJson(R"({"algorithm": "random", "unique": true})");
  EXPECT_EQ(TrialCount(search, space, -1), 5);
  const auto all = All(ToJson(search), space);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 5u);
  EXPECT_EQ(all.size(), 5u);
}

TEST(RandomSearcher, GridSearchKeepsToTheConstraints) {
  const SearchSpace space = Space(
      R"({"g": {"grid_search": [1, 2, 3, 4]}, "h": {"grid_search": [1, 2]}, "r": {"randint": [0, 3]}})",
      R"(["g != 4", "g + h < 5", "r >= h"])");
  EXPECT_EQ(TrialCount(Value(), space, 3), 15);  // All but (3, 2) and those with 4.
  const auto searcher = Make("null", space);
  std::map<std::string, int> combinations;
  for (int64_t n = 0; n < 15; ++n) {
    const Configuration c = *searcher->Suggest(TrialNumber{n});
    EXPECT_TRUE(space.Allows(c));
    ++combinations[ToJson(*c.Find("g")) + ToJson(*c.Find("h"))];
  }
  EXPECT_EQ(combinations,
            (std::map<std::string, int>{{"11", 3}, {"12", 3}, {"21", 3}, {"22", 3}, {"31", 3}}));
}

TEST(RandomSearcher, ACombinationThatNoDrawFitsGivesWayToTheNext) {
  const SearchSpace space =
      Space(R"({"g": {"grid_search": [1, 9, 2]}, "r": {"randint": [0, 3]}})", R"(["g + r < 5"])");
  const auto searcher = Make("null", space);
  std::vector<int64_t> gs;
  for (int64_t n = 0; n < 3; ++n) {
    gs.push_back(searcher->Suggest(TrialNumber{n})->Find("g")->AsInt());
  }
  EXPECT_THAT(gs, ElementsAre(1, 2, 2));
}

// One draw in a hundred thousand is allowed with g = 2, and so many are tried for a trial.
TEST(RandomSearcher, ThatATrialFindsNothingTakesNothingFromLaterOnes) {
  const SearchSpace space =
      Space(R"({"g": {"grid_search": [1, 2]}, "x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})",
            R"json(["x * y > 0.9955 * (g - 1)"])json");
  RandomDraws draws(space, 1);
  const GivenValues given = {Value(2), std::nullopt, std::nullopt};
  TrialNumber barren{1};
  while (draws.Allowed(barren, given)) barren.value += 2;
  TrialNumber fruitful{barren.value + 2};
  while (!draws.Allowed(fruitful, given)) fruitful.value += 2;
  const auto g_of = [&](SearchRules rules) {
    const auto made = MakeSearcher(Value(), {.space = space, .seed = 1, .rules = rules});
    EXPECT_EQ(*(*made)->Suggest(barren)->Find("g"), Value(1));
    return (*made)->Suggest(fruitful)->Find("g")->AsInt();
  };
  EXPECT_EQ(g_of(SearchRules::kFrom16), 2);
  EXPECT_EQ(g_of(SearchRules::kFrom15), 1) << "a sweep of an older build";
}

TEST(RandomSearcher, RefusesAGridOfWhichNothingIsAllowed) {
  const SearchSpace space = Space(R"({"g": {"grid_search": [1, 2]}})", R"(["g > 5"])");
  const auto made = MakeSearcher(Value(), {.space = space, .seed = 1});
  EXPECT_THAT(made.status().message(), HasSubstr("no combination of the grid_search values"));
}

}  // namespace
}  // namespace tune
