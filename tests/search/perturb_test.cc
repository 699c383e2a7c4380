#include "search/perturb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/json.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

SearchSpace Space(std::string_view json) {
  auto space = SearchSpace::Parse(*ParseJson(json));
  EXPECT_TRUE(space.ok()) << space.status().message();
  return *std::move(space);
}

Configuration With(std::initializer_list<std::pair<const char*, Value>> parameters) {
  Configuration configuration;
  for (const auto& [name, value] : parameters) configuration.Set(name, value);
  return configuration;
}

// Never drawn anew.
const PerturbOptions kSteps = {0.0, {1.2, 0.8}, {}};

// What x becomes, over many draws, as JSON.
std::set<std::string> Reached(std::string_view domain, const Value& x,
                              const PerturbOptions& options = kSteps) {
  const SearchSpace space = Space(R"({"x": )" + std::string(domain) + "}");
  std::set<std::string> reached;
  for (uint64_t i = 0; i < 60; ++i) {
    KeyedRandom random(7, "explore", i);
    const Configuration near = Perturb(space, With({{"x", x}}), options, random);
    EXPECT_EQ(near.parameters().size(), 1u);
    reached.insert(ToJson(*near.Find("x")));
  }
  return reached;
}

TEST(Perturb, ANumberIsMultipliedByAFactor) {
  EXPECT_THAT(Reached(R"({"uniform": [0, 100]})", 10.0), UnorderedElementsAre("12.0", "8.0"));
  EXPECT_THAT(Reached(R"({"loguniform": [1e-6, 1]})", 0.5), UnorderedElementsAre("0.6", "0.4"));
  EXPECT_THAT(Reached(R"({"randn": [0, 1]})", -2.5), UnorderedElementsAre("-3.0", "-2.0"));
  EXPECT_THAT(Reached(R"({"uniform": [0, 100]})", 10.0, {0.0, {2.0}, {}}), ElementsAre("20.0"));
}

TEST(Perturb, BeyondAnEndItIsTheEndsValue) {
  // The end itself is not in the domain.
  const double last = std::nextafter(100.0, 0.0);
  EXPECT_THAT(Reached(R"({"uniform": [10, 100]})", 90.0),
              UnorderedElementsAre(ToJson(Value(last)), "72.0"));
  EXPECT_THAT(Reached(R"({"uniform": [10, 100]})", 11.0),
              UnorderedElementsAre("10.0", ToJson(Value(11.0 * 1.2))));
  EXPECT_THAT(Reached(R"({"randint": [1, 10]})", 9), UnorderedElementsAre("9", "7"));
  EXPECT_THAT(Reached(R"({"quniform": [0, 1, 0.25]})", 1.0), UnorderedElementsAre("1.0", "0.75"));
}

TEST(Perturb, OnAGridItMovesByAStepAtLeast) {
  EXPECT_THAT(Reached(R"({"randint": [1, 100]})", 2), UnorderedElementsAre("3", "1"));
  EXPECT_THAT(Reached(R"({"randint": [1, 100]})", 50), UnorderedElementsAre("60", "40"));
  EXPECT_THAT(Reached(R"({"lograndint": [1, 1000000]})", 1000),
              UnorderedElementsAre("1200", "800"));
  EXPECT_THAT(Reached(R"({"qrandint": [16, 256, 16]})", 32), UnorderedElementsAre("48", "16"));
  EXPECT_THAT(Reached(R"({"qloguniform": [0.1, 10, 0.1]})", 0.3),
              UnorderedElementsAre("0.4", "0.2"));
  EXPECT_THAT(Reached(R"({"qrandn": [0, 10, 5]})", -10.0), UnorderedElementsAre("-15.0", "-5.0"));
  EXPECT_THAT(Reached(R"({"randint": [-9, 10]})", 0), ElementsAre("0"));
}

TEST(Perturb, AnOrdinalMovesToANeighbour) {
  constexpr char kSizes[] = R"({"ordinal": ["s", "m", "l", "xl"]})";
  EXPECT_THAT(Reached(kSizes, "m"), UnorderedElementsAre("\"s\"", "\"l\""));
  EXPECT_THAT(Reached(kSizes, "s"), ElementsAre("\"m\""));
  EXPECT_THAT(Reached(kSizes, "xl"), ElementsAre("\"l\""));
  EXPECT_THAT(Reached(R"({"ordinal": [3]})", 3), ElementsAre("3"));
}

TEST(Perturb, AChoiceIsDrawnAnewOrStays) {
  constexpr char kColours[] = R"({"choice": ["red", "green", "blue"]})";
  EXPECT_THAT(Reached(kColours, "red"), ElementsAre("\"red\""));
  EXPECT_THAT(Reached(kColours, "red", {0.5, {2}, {}}),
              UnorderedElementsAre("\"red\"", "\"green\"", "\"blue\""));
}

TEST(Perturb, ResamplesAsOftenAsItIsTold) {
  const SearchSpace space = Space(R"({"x": {"uniform": [0, 1]}})");
  int resampled = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    KeyedRandom random(7, "explore", i);
    const Configuration near = Perturb(space, With({{"x", 0.5}}), PerturbOptions(), random);
    const double x = near.Find("x")->AsDouble();
    EXPECT_TRUE(x >= 0 && x < 1);
    if (x != 0.6 && x != 0.4) ++resampled;
  }
  EXPECT_NEAR(resampled, 1000, 100);
}

TEST(Perturb, WhatIsNotInItsDomainIsDrawn) {
  EXPECT_EQ(Reached(R"({"randint": [1, 3]})", 77), (std::set<std::string>{"1", "2"}));
  EXPECT_EQ(Reached(R"({"choice": ["a", "b"]})", "c"), (std::set<std::string>{"\"a\"", "\"b\""}));
}

TEST(Perturb, OnlyTheNamedParametersChange) {
  const SearchSpace space =
      Space(R"({"o": {"lr": {"uniform": [0, 1]}}, "depth": {"randint": [1, 9]}, "seed": 3})");
  const Configuration base = With({{"o/lr", 0.5}, {"depth", 5}, {"seed", 3}});
  for (uint64_t i = 0; i < 20; ++i) {
    KeyedRandom random(7, "explore", i);
    const Configuration near = Perturb(space, base, {0.5, {1.5}, {"o/lr"}}, random);
    EXPECT_EQ(*near.Find("depth"), Value(5));
    EXPECT_EQ(*near.Find("seed"), Value(3));
    EXPECT_NE(*near.Find("o/lr"), Value(0.5));
  }
}

TEST(Perturb, ConditionsHold) {
  const SearchSpace space = Space(
      R"({"kind": {"choice": ["adam", "sgd"]},
          "beta": {"uniform": [0.8, 0.99], "when": {"kind": "adam"}},
          "momentum": {"uniform": [0.5, 0.9], "when": {"kind": "sgd"}}})");
  int changed = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    KeyedRandom random(7, "explore", i);
    const Configuration near =
        Perturb(space, With({{"kind", "adam"}, {"beta", 0.9}}), PerturbOptions(), random);
    const bool is_adam = *near.Find("kind") == Value("adam");
    EXPECT_EQ(near.Find("beta") != nullptr, is_adam);
    EXPECT_EQ(near.Find("momentum") != nullptr, !is_adam);
    changed += is_adam ? 0 : 1;
  }
  EXPECT_GT(changed, 0);
}

TEST(Perturb, TheSameDrawsGiveTheSameConfiguration) {
  const SearchSpace space =
      Space(R"({"x": {"uniform": [0, 1]}, "y": {"choice": [1, 2, 3]}, "z": {"randint": [0, 9]}})");
  const Configuration base = With({{"x", 0.5}, {"y", 2}, {"z", 5}});
  KeyedRandom a(7, "explore", 4, 1);
  KeyedRandom b(7, "explore", 4, 1);
  EXPECT_EQ(Perturb(space, base, PerturbOptions(), a), Perturb(space, base, PerturbOptions(), b));
}

TEST(CheckPerturbed, NamesTheNearestParameterWithADomain) {
  const SearchSpace space = Space(R"({"o": {"lr": {"uniform": [0, 1]}}, "epochs": 3})");
  EXPECT_TRUE(CheckPerturbed(space, std::vector<Value>{"o/lr"}).ok());
  EXPECT_THAT(CheckPerturbed(space, std::vector<Value>{"o/lr", "o/rl"}).message(),
              HasSubstr("'o/rl' is not a parameter with a domain; did you mean 'o/lr'?"));
  EXPECT_FALSE(CheckPerturbed(space, std::vector<Value>{"epochs"}).ok());
}

}  // namespace
}  // namespace tune
