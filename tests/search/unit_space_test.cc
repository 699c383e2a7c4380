#include "search/unit_space.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "core/json.h"
#include "core/random.h"
#include "search/normal.h"

namespace tune {
namespace {

const char* const kDomains[] = {
    R"({"uniform": [2, 3]})",         R"({"quniform": [-1, 1, 0.5]})",
    R"({"loguniform": [1e-5, 10]})",  R"({"qloguniform": [0.1, 1, 0.1]})",
    R"({"randint": [-3, 4]})",        R"({"qrandint": [0, 10, 2]})",
    R"({"lograndint": [1, 100]})",    R"({"qlograndint": [2, 20, 2]})",
    R"({"randn": [1, 2]})",           R"({"qrandn": [1, 2, 0.5]})",
    R"({"choice": ["a", "b", "c"]})", R"({"choice": [1, 2, 3], "weights": [1, 0, 3]})",
    R"({"ordinal": [16, 32, 64]})",   R"({"grid_search": [true, false]})",
};

Domain Make(std::string_view json) { return *Domain::Parse(*ParseJson(json)); }

TEST(Domain, AValueLiesInTheCellThatItCameFrom) {
  for (const char* const json : kDomains) {
    const Domain domain = Make(json);
    for (int i = 0; i <= 1000; ++i) {
      const double u = i / 1000.0;
      const auto cell = domain.ToUnit(domain.FromUnit(u));
      ASSERT_TRUE(cell) << json << " at " << u;
      // The ends of a continuous domain are not quite in it.
      EXPECT_LE(cell->lo, u + 1e-9) << json;
      EXPECT_GE(cell->hi, u - 1e-9) << json;
      EXPECT_EQ(domain.is_discrete(), cell->lo < cell->hi) << json;
    }
  }
}

TEST(Domain, TheMiddleOfACellGivesItsValue) {
  for (const char* const json : kDomains) {
    const Domain domain = Make(json);
    KeyedRandom random(3, "test");
    for (int i = 0; i < 200; ++i) {
      const Value value = domain.Draw(random);
      const auto cell = domain.ToUnit(value);
      ASSERT_TRUE(cell) << json;
      if (domain.is_discrete()) {
        EXPECT_EQ(domain.FromUnit(cell->mid()), value) << json;
      } else {
        EXPECT_NEAR(domain.FromUnit(cell->mid()).AsDouble(), value.AsDouble(),
                    1e-9 * std::max(1.0, std::fabs(value.AsDouble())))
            << json;
      }
    }
  }
}

// The length of a value's cell is its mass: draws and cells agree.
TEST(Domain, CellsAreAsLongAsTheirValuesAreFrequent) {
  constexpr int kDraws = 40'000;
  for (const char* const json : kDomains) {
    const Domain domain = Make(json);
    if (!domain.is_discrete()) continue;
    std::map<std::string, int> counts;
    std::map<std::string, double> masses;
    for (int i = 0; i < kDraws; ++i) {
      KeyedRandom random(5, "test", static_cast<uint64_t>(i));
      const Value value = domain.Draw(random);
      ++counts[ToJson(value)];
      const auto cell = domain.ToUnit(value);
      masses[ToJson(value)] = cell->hi - cell->lo;
    }
    for (const auto& [value, count] : counts) {
      const double expected = masses[value] * kDraws;
      EXPECT_NEAR(count, expected, 5 * std::sqrt(expected) + 1) << json << " " << value;
    }
  }
}

TEST(Domain, WhatIsNotInItHasNoCell) {
  EXPECT_FALSE(Make(R"({"uniform": [2, 3]})").ToUnit(Value(3.0)));
  EXPECT_FALSE(Make(R"({"uniform": [2, 3]})").ToUnit(Value("2.5")));
  EXPECT_FALSE(Make(R"({"randint": [0, 4]})").ToUnit(Value(4)));
  EXPECT_FALSE(Make(R"({"randint": [0, 4]})").ToUnit(Value(1.5)));
  EXPECT_FALSE(Make(R"({"qrandint": [0, 10, 2]})").ToUnit(Value(3)));
  EXPECT_FALSE(Make(R"({"choice": [1, 2, 3], "weights": [1, 0, 3]})").ToUnit(Value(2)));
  EXPECT_TRUE(Make(R"({"randint": [0, 4]})").ToUnit(Value(2.0)));
}

TEST(Normal, TheQuantileUndoesTheDistribution) {
  for (double x = -8; x <= 5; x += 0.25) {
    EXPECT_NEAR(NormalQuantile(NormalCdf(x)), x, 1e-9 * std::max(1.0, std::fabs(x))) << x;
  }
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(LogNormalCdf(-29.999), LogNormalCdf(-30.001), 0.07);
  EXPECT_NEAR(LogNormalCdf(-40), -804.608442, 1e-5);  // Mills: -800 - log(40 sqrt(2 pi)) - 1/1600.
}

TEST(UnitSpace, ConstantsAreNoDimension) {
  const auto parsed = SearchSpace::Parse(
      *ParseJson(R"({"a": {"uniform": [0, 1]}, "b": 5, "c": {"choice": ["x", "y"]}})"));
  const UnitSpace space(*parsed);
  ASSERT_EQ(space.size(), 2u);
  const Configuration configuration = space.At(std::vector<double>{0.25, 0.75});
  EXPECT_EQ(ToJson(configuration.ToNested()), R"({"a":0.25,"b":5,"c":"y"})");
  const auto cells = space.CellsOf(configuration);
  ASSERT_TRUE(cells);
  EXPECT_EQ((*cells)[0], (UnitCell{0.25, 0.25}));
  EXPECT_EQ((*cells)[1], (UnitCell{0.5, 1.0}));
}

TEST(UnitSpace, AConfigurationOfAnotherSpaceHasNoCells) {
  const UnitSpace space(*SearchSpace::Parse(*ParseJson(R"({"a": {"uniform": [0, 1]}})")));
  Configuration other;
  other.Set("a", Value(2.0));
  EXPECT_FALSE(space.CellsOf(other));
}

}  // namespace
}  // namespace tune
