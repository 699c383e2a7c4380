// Conditions between parameters (`when`).
#include "search/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "core/json.h"
#include "search/grid.h"
#include "search/searcher.h"
#include "search/unit_space.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SearchSpace Space(std::string_view json) {
  const Result<Value> tree = ParseJson(json);
  EXPECT_TRUE(tree.ok()) << tree.status().message();
  Result<SearchSpace> space = SearchSpace::Parse(*tree);
  EXPECT_TRUE(space.ok()) << space.status().message();
  return space.ok() ? *std::move(space) : SearchSpace();
}

std::string ErrorOf(std::string_view json) {
  const Result<Value> tree = ParseJson(json);
  EXPECT_TRUE(tree.ok()) << tree.status().message();
  const Result<SearchSpace> space = SearchSpace::Parse(*tree);
  EXPECT_FALSE(space.ok()) << json;
  return space.status().message();
}

std::unique_ptr<Searcher> Make(std::string_view search, const SearchSpace& space) {
  auto made = MakeSearcher(*ParseJson(search), {.space = space, .seed = 1});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::string Text(const std::optional<Configuration>& configuration) {
  return configuration ? ToJson(configuration->ToNested()) : "exhausted";
}

constexpr char kOptimizers[] = R"({
  "warmup": {"when": {"epochs": 9}, "steps": {"randint": [1, 4]}, "from": 0.5},
  "optimizer": {"kind": {"choice": ["adam", "sgd", "lion"]},
                "beta": {"uniform": [0.8, 0.99], "when": {"kind": "adam"}},
                "momentum": {"constant": 0.9, "when": {"kind": ["sgd", "lion"]}},
                "nesterov": {"choice": [true, false], "when": {"kind": "sgd"}},
                "decay": {"loguniform": [1e-5, 1e-1], "when": {"nesterov": true}}},
  "epochs": {"choice": [3, 9]}})";

TEST(Conditions, AParameterExistsWhereItsConditionHoldsAndKeepsItsPlaceInTheFile) {
  const SearchSpace space = Space(kOptimizers);
  const auto searcher = Make("null", space);
  std::set<std::string> shapes;
  for (int64_t n = 0; n < 200; ++n) {
    const Configuration c = *searcher->Suggest(TrialNumber{n});
    const auto has = [&](std::string_view name) { return c.Find(name) != nullptr; };
    const std::string kind = c.Find("optimizer/kind")->AsString();
    EXPECT_EQ(has("optimizer/beta"), kind == "adam");
    EXPECT_EQ(has("optimizer/momentum"), kind != "adam");
    EXPECT_EQ(has("optimizer/nesterov"), kind == "sgd");
    EXPECT_EQ(has("optimizer/decay"), kind == "sgd" && c.Find("optimizer/nesterov")->AsBool());
    EXPECT_EQ(has("warmup/steps"), *c.Find("epochs") == Value(9));
    EXPECT_EQ(has("warmup/from"), *c.Find("epochs") == Value(9));
    size_t last = 0;
    std::string shape;
    for (const auto& [name, value] : c.parameters()) {
      size_t at = 0;
      while (space.parameters()[at].name != name) ++at;
      EXPECT_GE(at, last) << name;
      last = at;
      shape += name + " ";
    }
    for (size_t i = 0; i < space.parameters().size(); ++i) {
      EXPECT_EQ(space.IsActive(i, c), has(space.parameters()[i].name));
    }
    shapes.insert(shape);
  }
  EXPECT_EQ(shapes.size(), 8u);  // (adam, sgd with decay or without, lion) * (3, 9).
}

TEST(Conditions, ParentsAreChosenBeforeWhatDependsOnThem) {
  const SearchSpace space = Space(
      R"({"c": {"uniform": [0, 1], "when": {"b": 1}}, "b": {"choice": [1, 2], "when": {"a": 1}},
          "x": 1, "a": {"choice": [1, 2]}, "d": {"uniform": [0, 1], "when": {"a": 2}}})");
  EXPECT_THAT(space.choosing_order(), ElementsAre(2, 3, 1, 0, 4));
  std::vector<std::string> asked;
  const Configuration configuration = space.Assemble([&](size_t i) {
    asked.push_back(space.parameters()[i].name);
    return Value(1);
  });
  EXPECT_THAT(asked, ElementsAre("a", "b", "c"));
  EXPECT_EQ(ToJson(configuration.ToNested()), R"({"c":1,"b":1,"x":1,"a":1})");
}

TEST(Conditions, TheNearestParameterOfThatNameIsMeant) {
  const SearchSpace space = Space(
      R"({"kind": {"choice": ["x", "y"]},
          "net": {"kind": {"choice": ["a", "b"]}, "deep": {"size": {"randint": [1, 9],
                  "when": {"kind": "a"}}},
                  "top": {"choice": [1], "when": {"net.deep.size": [1, 2], "kind": "a"}}},
          "other": {"choice": [1], "when": {"kind": "x", "net/kind": "b"}}})");
  const auto parents = [&](size_t i) {
    std::vector<std::string> names;
    for (const Condition& condition : space.parameters()[i].conditions) {
      names.push_back(space.parameters()[condition.parent].name);
    }
    return names;
  };
  EXPECT_THAT(parents(2), ElementsAre("net/kind"));
  EXPECT_THAT(parents(3), ElementsAre("net/deep/size", "net/kind"));
  EXPECT_THAT(parents(4), ElementsAre("kind", "net/kind"));
}

TEST(Conditions, ValuesAreThoseOfTheParentsDomain) {
  const SearchSpace space = Space(
      R"({"n": {"randint": [1, 4]}, "q": {"quniform": [0, 1, 0.1]}, "o": {"ordinal": [1, 2]},
          "f": {"choice": [true, null]},
          "a": {"constant": "a", "when": {"n": 2.0}}, "b": {"constant": 1, "when": {"q": [0, 0.3]}},
          "c": {"constant": 1, "when": {"o": 2.0}}, "d": {"constant": 1, "when": {"f": [null]}}})");
  const auto values = [&](size_t i) { return space.parameters()[i].conditions[0].values; };
  EXPECT_THAT(values(4), ElementsAre(Value(2)));
  EXPECT_THAT(values(5), ElementsAre(Value(0.0), Value(0.3)));
  EXPECT_THAT(values(6), ElementsAre(Value(2)));
  EXPECT_THAT(values(7), ElementsAre(Value()));
}

TEST(Conditions, WhatCannotBeIsToldWithItsName) {
  const auto with = [](std::string_view when) {
    return ErrorOf(R"({"kind": {"choice": ["adam", "sgd"]}, "lr": {"uniform": [0, 1]}, "k": 3,
                       "n": {"randint": [0, 9]}, "net": {"width": {"choice": [1, 2]}},
                       "x": {"choice": [1], "when": )" +
                   std::string(when) + "}}");
  };
  EXPECT_EQ(with(R"({"knid": "adam"})"),
            "when: there is no parameter 'knid'; did you mean 'kind'?");
  EXPECT_THAT(with(R"({"net.widht": 1})"), HasSubstr("did you mean 'net/width'?"));
  EXPECT_THAT(with(R"({"widht": 1})"), HasSubstr("did you mean 'width'?"));
  EXPECT_EQ(with(R"({"kind": "adamw"})"),
            R"(when: 'kind' is never 'adamw'; it is choice: ["adam", "sgd"])");
  EXPECT_THAT(with(R"({"kind": ["adam", 1]})"), HasSubstr("'kind' is never 1"));
  EXPECT_THAT(with(R"({"n": 9})"), HasSubstr("'n' is never 9; it is randint: [0, 9]"));
  EXPECT_THAT(with(R"({"k": 4})"), HasSubstr("'k' is always 3, never 4"));
  EXPECT_THAT(with(R"({"lr": 0.5})"), HasSubstr("'lr' is uniform; a condition needs"));
  EXPECT_THAT(with(R"({"x": 1})"), HasSubstr("'x' depends on itself"));
  EXPECT_THAT(with(R"({"kind": []})"), HasSubstr("'kind' has an empty list"));
  EXPECT_THAT(with("{}"), HasSubstr("when: read an empty map, expected another parameter"));
  EXPECT_THAT(with(R"("adam")"), HasSubstr("when: read 'adam', expected another parameter"));
  EXPECT_THAT(ErrorOf(R"({"when": {"a": 1}, "a": 1})"), HasSubstr("'when' stands beside"));
  EXPECT_THAT(ErrorOf(R"({"a": 1, "b": {"when": {"a": 1}}})"), HasSubstr("an empty map"));
}

TEST(Conditions, ACircleIsToldAlongItsWay) {
  EXPECT_THAT(ErrorOf(R"({"d": {"choice": [1], "when": {"a": 1}},
                          "a": {"choice": [1], "when": {"c": 1}},
                          "b": {"choice": [1], "when": {"a": 1}},
                          "c": {"choice": [1], "when": {"b": 1}}})"),
              HasSubstr("the conditions go in a circle: 'a' -> 'c' -> 'b' -> 'a'"));
}

TEST(Conditions, ContradictionsAreRefused) {
  EXPECT_THAT(
      ErrorOf(R"({"a": {"choice": [1, 2, 3]}, "b": {"choice": [4, 5], "when": {"a": [1, 2]}},
                          "c": {"choice": [6], "when": {"b": 4, "a": 3}}})"),
      HasSubstr("'c' can never exist: 'a' would have to be both"));
  EXPECT_THAT(ErrorOf(R"({"a": {"choice": [1, 2]},
                          "net": {"when": {"a": 1}, "b": {"choice": [6], "when": {"a": 2}}}})"),
              HasSubstr("'net/b' can never exist"));
  Space(R"({"a": {"choice": [1, 2, 3]}, "b": {"choice": [4, 5], "when": {"a": [1, 2]}},
            "c": {"choice": [6], "when": {"b": 4, "a": [2, 3]}}})");
}

TEST(Conditions, ErrorsHaveThePlaceOfWhatIsWrong) {
  Value values(Value::List{Value("adam"), Value("sgd")});
  Value kind = Value::MakeMap();
  kind.Set("choice", values);
  Value wrong("adamw");
  wrong.place = Place{3, 40};
  Value when = Value::MakeMap();
  when.Set("kind", wrong);
  when.AsMap()[0].key_place = Place{3, 34};
  Value domain = kind;
  domain.Set("when", when);
  Value root = Value::MakeMap();
  root.Set("kind", kind);
  root.Set("x", domain);
  EXPECT_THAT(SearchSpace::Parse(root).status().message(),
              testing::StartsWith("3:40: when: 'kind' is never 'adamw'"));
  root.Find("x")->Find("when")->AsMap()[0].key = "knid";
  EXPECT_THAT(SearchSpace::Parse(root).status().message(),
              testing::StartsWith("3:34: when: there is no parameter 'knid'"));
}

TEST(Conditions, AGridHasEachConfigurationOnce) {
  const SearchSpace space = Space(
      R"({"n": {"randint": [0, 2]}, "kind": {"choice": ["a", "b"]},
          "x": {"choice": [1, 2], "when": {"kind": "b"}},
          "y": {"choice": [3, 4], "when": {"x": 2}}, "k": {"constant": 7, "when": {"x": 1}}})");
  const auto grid = Make(R"({"algorithm": "grid"})", space);
  std::vector<std::string> all;
  for (int64_t n = 0; n < 9; ++n) all.push_back(Text(grid->Suggest(TrialNumber{n})));
  EXPECT_THAT(all,
              ElementsAre(R"({"n":0,"kind":"a"})", R"({"n":1,"kind":"a"})",
                          R"({"n":0,"kind":"b","x":1,"k":7})", R"({"n":1,"kind":"b","x":1,"k":7})",
                          R"({"n":0,"kind":"b","x":2,"y":3})", R"({"n":0,"kind":"b","x":2,"y":4})",
                          R"({"n":1,"kind":"b","x":2,"y":3})", R"({"n":1,"kind":"b","x":2,"y":4})",
                          "exhausted"));
  EXPECT_EQ(TrialCount(*ParseJson(R"({"algorithm": "grid"})"), space, -1), 8);
}

TEST(Conditions, AUniqueSearchHasEachConfigurationOnce) {
  const auto searcher =
      Make(R"({"algorithm": "random", "unique": true})", Space(R"({"kind": {"choice": ["a", "b"]},
                                       "x": {"choice": [1, 2], "when": {"kind": "b"}}})"));
  std::set<std::string> all;
  for (int64_t n = 0; n < 3; ++n) all.insert(Text(searcher->Suggest(TrialNumber{n})));
  EXPECT_THAT(all,
              ElementsAre(R"({"kind":"a"})", R"({"kind":"b","x":1})", R"({"kind":"b","x":2})"));
  EXPECT_EQ(Text(searcher->Suggest(TrialNumber{3})), "exhausted");
}

TEST(Conditions, GridSearchMayDependOnWhatIsDrawnAndOnTheGrid) {
  const SearchSpace space = Space(
      R"({"r": {"choice": ["on", "off"]}, "g": {"grid_search": [1, 2]},
          "h": {"grid_search": ["p", "q"], "when": {"g": 2}},
          "i": {"grid_search": [7, 8], "when": {"r": "on"}}})");
  EXPECT_EQ(TrialCount(Value(), space, 10), 60);  // (1, 2p, 2q) * (7, 8)
  const auto searcher = Make("null", space);
  std::map<std::string, int> combinations;
  for (int64_t n = 0; n < 60; ++n) {
    const Configuration c = *searcher->Suggest(TrialNumber{n});
    EXPECT_EQ(c.Find("i") != nullptr, *c.Find("r") == Value("on"));
    ++combinations[ToJson(*c.Find("g")) + (c.Find("h") ? ToJson(*c.Find("h")) : "")];
  }
  EXPECT_EQ(combinations, (std::map<std::string, int>{{"1", 20}, {"2\"p\"", 20}, {"2\"q\"", 20}}));
}

TEST(Conditions, TheUnitCubeHasADimensionForEachDomain) {
  const UnitSpace space(Space(kOptimizers));
  EXPECT_EQ(space.size(), 6u);
  const Configuration c = space.At(std::vector<double>{0.5, 0, 0.5, 0.5, 0.5, 0});
  EXPECT_EQ(c.Find("optimizer/nesterov"), nullptr);
  EXPECT_NE(c.Find("optimizer/beta"), nullptr);
  const auto cells = space.CellsOf(c);
  ASSERT_TRUE(cells);
  std::vector<bool> there;
  for (const auto& cell : *cells) there.push_back(cell.has_value());
  EXPECT_THAT(there, ElementsAre(false, true, true, false, false, true));
}

TEST(Conditions, AParameterMayBeCalledWhen) {
  const SearchSpace space = Space(R"({"net": {"when": {"choice": ["now", "then"]}, "x": 1}})");
  EXPECT_EQ(space.parameters()[0].name, "net/when");
}

}  // namespace
}  // namespace tune
