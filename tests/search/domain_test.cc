#include "search/domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "search/space.h"

namespace tune {
namespace {

using testing::HasSubstr;

constexpr int kDraws = 100'000;

Domain Make(std::string_view json) {
  const Result<Value> map = ParseJson(json);
  EXPECT_TRUE(map.ok()) << map.status().message();
  Result<Domain> domain = Domain::Parse(*map);
  EXPECT_TRUE(domain.ok()) << domain.status().message();
  return *std::move(domain);
}

std::vector<Value> DrawMany(const Domain& domain, int count = kDraws) {
  std::vector<Value> values;
  for (int i = 0; i < count; ++i) {
    KeyedRandom random(11, "search", static_cast<uint64_t>(i), StableHash("p"));
    values.push_back(domain.Draw(random));
  }
  return values;
}

// Pearson's statistic against the expected masses; every drawn value must be among them. The bounds
// below are the 99.9 % points of chi-square, and the seed is fixed.
double ChiSquare(const Domain& domain, const std::map<std::string, double>& masses) {
  std::map<std::string, int> counts;
  for (const Value& value : DrawMany(domain)) ++counts[ToJson(value)];
  for (const auto& [value, count] : counts) EXPECT_TRUE(masses.contains(value)) << value;
  double statistic = 0;
  for (const auto& [value, mass] : masses) {
    const double expected = mass * kDraws;
    statistic += std::pow(counts[value] - expected, 2) / expected;
  }
  return statistic;
}

TEST(Domain, UniformStaysInItsRangeAndIsEven) {
  std::vector<int> tenths(10);
  for (const Value& value : DrawMany(Make(R"({"uniform": [2, 3]})"))) {
    const double x = value.AsDouble();
    ASSERT_TRUE(value.is_double() && x >= 2 && x < 3);
    ++tenths[static_cast<size_t>((x - 2) * 10)];
  }
  for (const int count : tenths) EXPECT_NEAR(count, kDraws / 10, 400);  // 4 deviations.
}

TEST(Domain, LogUniformIsEvenOverTheDecades) {
  std::vector<int> decades(4);
  for (const Value& value : DrawMany(Make(R"({"loguniform": [1e-5, 1e-1]})"))) {
    const double x = value.AsDouble();
    ASSERT_TRUE(x >= 1e-5 && x < 1e-1);
    ++decades[static_cast<size_t>(std::log10(x) + 5)];
  }
  for (const int count : decades) EXPECT_NEAR(count, kDraws / 4, 550);
}

TEST(Domain, QuniformGivesEveryGridPointTheSameMassBothEndsToo) {
  std::map<std::string, double> masses;
  for (const char* point : {"0.0", "0.1", "0.2", "0.3", "0.4", "0.5"}) masses[point] = 1.0 / 6;
  EXPECT_LT(ChiSquare(Make(R"({"quniform": [0, 0.5, 0.1]})"), masses), 20.5);  // 5 degrees.
}

TEST(Domain, QrandintGivesEveryGridPointTheSameMassBothEndsToo) {
  std::map<std::string, double> masses;
  for (const char* point : {"0", "2", "4", "6", "8", "10"}) masses[point] = 1.0 / 6;
  EXPECT_LT(ChiSquare(Make(R"({"qrandint": [0, 10, 2]})"), masses), 20.5);
}

TEST(Domain, RandintIsEvenAndItsHighEndExclusive) {
  const std::map<std::string, double> masses = {
      {"-1", 0.25}, {"0", 0.25}, {"1", 0.25}, {"2", 0.25}};
  EXPECT_LT(ChiSquare(Make(R"({"randint": [-1, 3]})"), masses), 16.3);  // 3 degrees.
}

TEST(Domain, LograndintGivesAnIntegerTheMassUpToTheNext) {
  std::map<std::string, double> masses;
  for (int n = 1; n < 8; ++n) masses[std::to_string(n)] = std::log((n + 1.0) / n) / std::log(8.0);
  EXPECT_LT(ChiSquare(Make(R"({"lograndint": [1, 8]})"), masses), 22.5);  // 6 degrees.
}

TEST(Domain, QlograndintGivesAGridPointItsCellOnTheLogScale) {
  std::map<std::string, double> masses;
  for (int n = 2; n <= 10; n += 2) {
    masses[std::to_string(n)] = std::log((n + 1.0) / (n - 1.0)) / std::log(11.0 / 1.0);
  }
  EXPECT_LT(ChiSquare(Make(R"({"qlograndint": [2, 10, 2]})"), masses), 18.5);  // 4 degrees.
}

TEST(Domain, QloguniformGivesAGridPointItsCellOnTheLogScale) {
  std::map<std::string, double> masses;
  for (int k = 1; k <= 4; ++k) {
    masses[ToJson(Value(k / 4.0))] = std::log((k + 0.5) / (k - 0.5)) / std::log(4.5 / 0.5);
  }
  EXPECT_LT(ChiSquare(Make(R"({"qloguniform": [0.25, 1, 0.25]})"), masses), 16.3);
}

TEST(Domain, RandnHasItsMeanAndDeviation) {
  double sum = 0, squares = 0;
  for (const Value& value : DrawMany(Make(R"({"randn": [3, 0.5]})"))) {
    sum += value.AsDouble();
    squares += std::pow(value.AsDouble() - 3, 2);
  }
  EXPECT_NEAR(sum / kDraws, 3, 0.5 * 4 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 0.25, 0.006);
}

TEST(Domain, QrandnGivesAGridPointItsCellOfTheNormal) {
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  std::map<std::string, double> masses;
  for (int k = -6; k <= 6; ++k) {  // Beyond 6 deviations nothing is drawn.
    masses[ToJson(Value(static_cast<double>(k)))] = below(k + 0.5) - below(k - 0.5);
  }
  std::map<std::string, int> counts;
  for (const Value& value : DrawMany(Make(R"({"qrandn": [0, 1, 1]})"))) ++counts[ToJson(value)];
  for (int k = -2; k <= 2; ++k) {
    const std::string point = ToJson(Value(static_cast<double>(k)));
    EXPECT_NEAR(counts[point], masses[point] * kDraws, 4 * std::sqrt(masses[point] * kDraws)) << k;
  }
}

TEST(Domain, ChoiceFollowsItsWeights) {
  const std::map<std::string, double> masses = {{"\"a\"", 0.1}, {"\"b\"", 0.3}, {"\"d\"", 0.6}};
  EXPECT_LT(ChiSquare(Make(R"({"choice": ["a", "b", "c", "d"], "weights": [1, 3, 0, 6]})"), masses),
            13.9);
}

TEST(Domain, ListsWithoutWeightsAreEven) {
  const std::map<std::string, double> masses = {
      {"1", 0.2}, {"2", 0.2}, {"\"a\"", 0.2}, {"null", 0.2}, {"[3]", 0.2}};
  for (const char* const name : {"choice", "ordinal", "grid_search"}) {
    const std::string json = "{\"" + std::string(name) + "\": [1, 2, \"a\", null, [3]]}";
    EXPECT_LT(ChiSquare(Make(json), masses), 18.5) << name;  // 4 degrees.
  }
}

// What peers get wrong: the ends of a grid are as frequent as their mass says.
TEST(Domain, TheEndsOfEveryGridHaveTheirMass) {
  const double whole = std::log(1000.5 / 0.5);
  const struct {
    const char* json;
    double lowest, highest;
  } cases[] = {
      {R"({"randint": [-5, 5]})", 0.1, 0.1},
      {R"({"qrandint": [-10, 10, 5]})", 0.2, 0.2},
      {R"({"quniform": [-0.3, 0.3, 0.1]})", 1.0 / 7, 1.0 / 7},
      {R"({"lograndint": [1, 1000]})", std::log(2) / std::log(1000),
       std::log(1000.0 / 999) / std::log(1000)},
      {R"({"qlograndint": [1, 1000, 1]})", std::log(1.5 / 0.5) / whole,
       std::log(1000.5 / 999.5) / whole},
      {R"({"qloguniform": [0.1, 100, 0.1]})", std::log(1.5 / 0.5) / whole,
       std::log(1000.5 / 999.5) / whole},
  };
  for (const auto& each : cases) {
    const Domain domain = Make(each.json);
    int lowest = 0, highest = 0;
    for (const Value& value : DrawMany(domain)) {
      lowest += value == domain.At(0);
      highest += value == domain.At(*domain.Count() - 1);
    }
    const auto within = [](double mass) { return 4 * std::sqrt(mass * kDraws) + 1; };
    EXPECT_NEAR(lowest, each.lowest * kDraws, within(each.lowest)) << each.json;
    EXPECT_NEAR(highest, each.highest * kDraws, within(each.highest)) << each.json;
  }
}

TEST(Domain, ChoiceKeepsEveryKindOfValue) {
  const Domain domain = Make(R"({"choice": [1, 1.5, "1", true, null, [1, 2], {"a": 1}]})");
  EXPECT_EQ(domain.Count(), 7u);
  std::map<std::string, int> counts;
  for (const Value& value : DrawMany(domain, 1000)) ++counts[ToJson(value)];
  EXPECT_EQ(counts.size(), 7u);
  EXPECT_TRUE(counts.contains(R"({"a":1})"));
}

TEST(Domain, GridPointsAreTheNearestDoublesOfTheirDecimals) {
  const Domain tenths = Make(R"({"quniform": [0, 1, 0.1]})");
  ASSERT_EQ(tenths.Count(), 11u);
  EXPECT_EQ(tenths.At(0), Value(0.0));
  EXPECT_EQ(tenths.At(3), Value(0.3));
  EXPECT_EQ(tenths.At(7), Value(0.7));
  EXPECT_EQ(tenths.At(10), Value(1.0));
  EXPECT_EQ(Make(R"({"quniform": [0, 900, 300]})").At(3), Value(900.0));
  EXPECT_EQ(Make(R"({"quniform": [-0.3, 0.3, 0.3]})").At(0), Value(-0.3));
}

TEST(Domain, CountsItsValuesWhereTheyEnd) {
  EXPECT_EQ(Make(R"({"randint": [3, 7]})").Count(), 4u);
  EXPECT_EQ(Make(R"({"lograndint": [1, 1000]})").Count(), 999u);
  EXPECT_EQ(Make(R"({"qlograndint": [10, 100, 10]})").Count(), 10u);
  EXPECT_EQ(Make(R"({"uniform": [0, 1]})").Count(), std::nullopt);
  EXPECT_EQ(Make(R"({"qrandn": [0, 1, 0.1]})").Count(), std::nullopt);
  EXPECT_EQ(Make(R"({"randint": [3, 7]})").At(3), Value(6));
}

TEST(Domain, WholeNumbersMayBeWrittenWithAnExponent) {
  EXPECT_EQ(Make(R"({"randint": [1, 1e3]})").Count(), 999u);
}

TEST(Domain, LargeRangesOfIntegersStayWithinThem) {
  const Domain wide = Make(R"({"randint": [-2000000000000000000, 2000000000000000000]})");
  const Domain log = Make(R"({"lograndint": [1, 4611686018427387904]})");
  for (const Value& value : DrawMany(wide, 1000))
    ASSERT_LT(std::llabs(value.AsInt()), 2000000000000000001);
  for (const Value& value : DrawMany(log, 1000)) ASSERT_GE(value.AsInt(), 1);
}

TEST(Domain, ItsOwnValueIsTheOneOfTheSameSize) {
  EXPECT_EQ(Make(R"({"randint": [0, 4]})").OwnValue(Value(2.0)), Value(2));
  EXPECT_EQ(Make(R"({"uniform": [0, 4]})").OwnValue(Value(2)), Value(2.0));
  EXPECT_EQ(Make(R"({"quniform": [0, 1, 0.1]})").OwnValue(Value(3 * 0.1)), Value(0.3));
  EXPECT_EQ(Make(R"({"choice": [1.0, 1, 2]})").OwnValue(Value(1)), Value(1));
  EXPECT_EQ(Make(R"({"choice": [1.0, 2]})").OwnValue(Value(1)), Value(1.0));
  EXPECT_EQ(Make(R"({"choice": ["1", true]})").OwnValue(Value(1)), std::nullopt);
  EXPECT_EQ(Make(R"({"uniform": [0, 4]})").OwnValue(Value(4)), std::nullopt);
  EXPECT_EQ(Make(R"({"randint": [0, 4]})").OwnValue(Value("2")), std::nullopt);
}

TEST(Domain, IntegersBeyondADoublesReachHaveTheirPlace) {
  const Domain wide = Make(R"({"randint": [0, 4000000000000000001]})");
  const Value value(int64_t{3'999'999'999'999'999'999});
  ASSERT_TRUE(wide.ToUnit(value));
  EXPECT_EQ(wide.OwnValue(value), value);
  EXPECT_FALSE(wide.ToUnit(Value(int64_t{4'000'000'000'000'000'001})));
}

// So are nanoseconds since 1970: the steps of a double are 256 there.
TEST(Domain, IntegersThatAreOneDoubleHavePlacesOfTheirOwn) {
  for (const char* const json :
       {R"({"randint": [1700000000000000000, 1700000000000000050]})",
        R"({"qrandint": [1700000000000000000, 1700000000000000049, 1]})"}) {
    const Domain domain = Make(json);
    ASSERT_EQ(domain.Count(), 50u);
    for (uint64_t i = 0; i < 50; ++i) {
      const UnitCell cell = domain.CellAt(i);
      EXPECT_DOUBLE_EQ(cell.lo, static_cast<double>(i) / 50) << json;
      EXPECT_DOUBLE_EQ(cell.hi, static_cast<double>(i + 1) / 50) << json;
      EXPECT_EQ(domain.FromUnit(cell.mid()), domain.At(i)) << json;
    }
    EXPECT_EQ(domain.FromUnit(0), domain.At(0));
    EXPECT_EQ(domain.FromUnit(1), domain.At(49));
  }
}

struct BadDomain {
  const char* json;
  const char* message;
};

TEST(Domain, ItsEndsAreThoseThatTheFileHasOrTheOutermostGridPoints) {
  using Ends = std::pair<double, double>;
  EXPECT_EQ(Make(R"({"uniform":[0,0.5]})").Ends(), Ends(0, 0.5));
  EXPECT_EQ(Make(R"({"loguniform":[1e-5,0.1]})").Ends(), Ends(1e-5, 0.1));
  EXPECT_EQ(Make(R"({"quniform":[0,0.3,0.1]})").Ends(), Ends(0, 0.3));
  EXPECT_EQ(Make(R"({"randint":[1,10]})").Ends(), Ends(1, 9));
  EXPECT_EQ(Make(R"({"randn":[0,1]})").Ends(), std::nullopt);
  EXPECT_EQ(Make(R"({"choice":[1,2]})").Ends(), std::nullopt);
}

TEST(Domain, EachImpossibleDomainIsToldWithWhatWasReadAndExpected) {
  const BadDomain cases[] = {
      {R"({"uniform": [1, 1]})", "uniform: lo is 1 and hi is 1; lo must be below hi"},
      {R"({"uniform": [2, 1]})", "lo must be below hi"},
      {R"({"uniform": [1]})", "uniform: read 1 number, expected [lo, hi]"},
      {R"({"uniform": [0, 1, 0.1]})", "uniform: read 3 numbers, expected [lo, hi]"},
      {R"({"quniform": [0, 1]})", "quniform: read 2 numbers, expected [lo, hi, q]"},
      {R"({"uniform": 3})", "uniform: read 3, expected a list, [lo, hi]"},
      {R"({"uniform": ["a", 1]})", "uniform: read 'a', expected a finite number"},
      {R"({"uniform": [-1.7e308, 1.7e308]})", "wider than a double can hold"},
      {R"({"randint": [0, 2.5]})", "randint: read 2.5, expected an integer"},
      {R"({"randint": [-9223372036854775807, 9223372036854775807]})", "wider than 62 bits"},
      {R"({"loguniform": [0, 1]})", "loguniform: lo is 0; on a log scale it must be above 0"},
      {R"({"lograndint": [0, 8]})", "on a log scale it must be above 0"},
      {R"({"qloguniform": [0, 8, 1]})", "on a log scale it must be above 0"},
      {R"({"lograndint": [1000000000000000, 1000000000000002]})",
       "lograndint: lo is 1000000000000000 and hi is 1000000000000002, whose logarithms are the "
       "same; so close to each other they need no log scale"},
      {R"({"loguniform": [1000000000000000.0, 1000000000000000.5]})",
       "whose logarithms are the same"},
      {R"({"quniform": [0, 1, 0.3]})", "quniform: 1 is not a multiple of q = 0.3"},
      {R"({"qloguniform": [1e-10, 1, 1]})", "nearer to 0 than to q = 1; on a log scale lo must be"},
      {R"({"qrandint": [1, 10, 2]})", "qrandint: 1 is not a multiple of q = 2"},
      {R"({"quniform": [0, 1, 0]})", "q is 0; it must be above 0"},
      {R"({"qrandint": [0, 4, -2]})", "q is -2; it must be above 0"},
      {R"({"randn": [0, 0]})", "sd is 0; it must be above 0"},
      {R"({"qrandn": [0, 1, 1e-300]})", "q is too small"},
      {R"({"choice": []})", "choice: the list is empty"},
      {R"({"grid_search": []})", "grid_search: the list is empty"},
      {R"({"choice": "a"})", "choice: read 'a', expected a list"},
      {R"({"choice": [1, 2], "weights": [1]})", "weights: read 1 of them, expected a list of 2"},
      {R"({"choice": [1], "weights": 3})", "weights: read 3, expected a list of 1"},
      {R"({"choice": [1, 2], "weights": [1, -1]})",
       "weights: read -1, expected a number of 0 or more"},
      {R"({"choice": [1, 2], "weights": [0, 0]})", "they add up to 0.0"},
      {R"({"ordinal": [1], "weights": [1]})", "only choice has weights"},
      {R"({"uniform": [0, 1], "choice": [1]})", "'choice' beside 'uniform'"},
      {R"({"uniform": [0, 1], "log": true})", "'log' cannot stand beside 'uniform'"},
  };
  for (const BadDomain& bad : cases) {
    const Result<Value> map = ParseJson(bad.json);
    ASSERT_TRUE(map.ok()) << bad.json;
    const Result<Domain> domain = Domain::Parse(*map);
    EXPECT_FALSE(domain.ok()) << bad.json;
    EXPECT_EQ(domain.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(domain.status().message(), HasSubstr(bad.message));
  }
}

TEST(SearchSpace, NestedNamesAreJoinedAndKeepTheOrderOfTheFile) {
  const auto space = SearchSpace::Parse(*ParseJson(
      R"({"b": 1, "opt": {"lr": {"uniform": [0, 1]}, "adam": {"beta": 0.9}}, "a": [1]})"));
  ASSERT_TRUE(space.ok()) << space.status().message();
  std::vector<std::string> names;
  for (const SpaceParameter& parameter : space->parameters()) names.push_back(parameter.name);
  EXPECT_THAT(names, testing::ElementsAre("b", "opt/lr", "opt/adam/beta", "a"));
}

TEST(SearchSpace, ErrorsHaveThePlaceOfWhatIsWrong) {
  Value number(3);
  number.place = Place{4, 17};
  Value map = Value::MakeMap();
  map.Set("uniform", Value(Value::List{number}));
  map.Find("uniform")->place = Place{4, 16};
  Value root = Value::MakeMap();
  root.Set("lr", map);
  EXPECT_EQ(SearchSpace::Parse(root).status().message(),
            "4:16: uniform: read 1 number, expected [lo, hi]");
}

TEST(SearchSpace, NamesTheNearestDomain) {
  const auto error = [](std::string_view json) {
    return SearchSpace::Parse(*ParseJson(json)).status().message();
  };
  EXPECT_THAT(error(R"({"lr": {"unifrom": [0, 1]}})"), HasSubstr("did you mean 'uniform'?"));
  EXPECT_THAT(error(R"({"lr": {"log_uniform": [1, 2]}})"), HasSubstr("did you mean 'loguniform'?"));
  EXPECT_THAT(error(R"({"lr": {"categorical": [1, 2]}})"),
              HasSubstr("'categorical' is not a domain"));
}

TEST(SearchSpace, ADomainIsMistypedAlsoBesideWhatBelongsToIt) {
  const auto error = [](std::string_view json) {
    return SearchSpace::Parse(*ParseJson(json)).status().message();
  };
  EXPECT_THAT(error(R"({"lr": {"logunifrom": [1e-5, 0.1], "guess": 3e-4}})"),
              HasSubstr("'logunifrom' is not a domain; did you mean 'loguniform'?"));
  EXPECT_THAT(error(R"({"lr": {"categorical": ["a", "b"], "guess": "a"}})"),
              HasSubstr("'categorical' is not a domain"));
  EXPECT_THAT(error(R"({"k": {"choise": [1, 2], "weights": [1, 3], "guess": 2}})"),
              HasSubstr("'choise' is not a domain; did you mean 'choice'?"));
  EXPECT_EQ(error(R"({"net": {"layers": [64, 64], "weights": "net.pt"}})"), "");
  EXPECT_EQ(error(R"({"net": {"layers": [64, 64], "guess": 1, "lr": {"uniform": [0, 1]}}})"), "");
}

TEST(SearchSpace, RefusesNamesThatCannotBeTold) {
  const auto error = [](std::string_view json) {
    return SearchSpace::Parse(*ParseJson(json)).status().message();
  };
  EXPECT_THAT(error(R"({"a/b": 1})"), HasSubstr("has a '/'; write nested maps instead"));
  EXPECT_THAT(error(R"({"": 1})"), HasSubstr("name is empty"));
  EXPECT_THAT(error(R"({"opt": {}})"), HasSubstr("an empty map"));
  EXPECT_THAT(error(R"([1])"), HasSubstr("space: read a list, expected a map"));
  EXPECT_THAT(error("{\"" + std::string(201, 'a') + "\": 1}"), HasSubstr("longer than 200 bytes"));
  std::string many = "{\"p0\": 0";
  for (int i = 1; i <= 1000; ++i) many += ", \"p" + std::to_string(i) + "\": 0";
  EXPECT_THAT(error(many + "}"), HasSubstr("more than 1000 parameters"));
}

}  // namespace
}  // namespace tune
