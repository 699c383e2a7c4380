#include "search/searcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/json.h"
#include "core/limits.h"
#include "tests/contract/searcher_contract.h"

namespace tune {
namespace {

using testing::HasSubstr;

const std::string kMixed = kMixedSpace;
const std::string kDiscrete = kDiscreteSpace;

// One line for each algorithm.
std::vector<SearcherCase> Cases() {
  std::vector<SearcherCase> all = {
      {"default", "null", kMixed},
      {"random_with_grid_search", R"({"algorithm": "random"})",
       R"({"lr": {"uniform": [0, 1]}, "g": {"grid_search": [1, 2, 3]}})"},
      {"sobol_plain", R"({"algorithm": "sobol", "scramble": false})", kDiscrete}};
  for (const auto& cases : {
           CasesOf("random", R"({"algorithm": "random"})"),
           CasesOf("unique", R"({"algorithm": "random", "unique": true})", /*is_ordered=*/true),
           CasesOf("repeated", R"({"algorithm": "random", "repeat": 3})"),
           CasesOf("repeated_unique", R"({"algorithm": "random", "repeat": 2, "unique": true})",
                   true),
           CasesOf("repeated_grid", R"({"algorithm": "grid", "repeat": 2})", false, true),
           CasesOf("repeated_gp", R"({"algorithm": "gp", "repeat": 2})"),
           CasesOf("repeated_tpe", R"({"algorithm": "tpe", "repeat": 2})"),
           CasesOf("grid", R"({"algorithm": "grid"})", false, /*counts_only=*/true),
           CasesOf("sobol", R"({"algorithm": "sobol"})"),
           CasesOf("unique_sobol", R"({"algorithm": "sobol", "unique": true})", true),
           CasesOf("tpe", R"({"algorithm": "tpe"})"),
           CasesOf("tpe_alone", R"({"algorithm": "tpe", "multivariate": false})"),
           CasesOf("bohb", R"({"algorithm": "bohb"})"),
           CasesOf("gp", R"({"algorithm": "gp"})"),
           CasesOf("auto", R"({"algorithm": "auto"})"),
           CasesOf("cmaes", R"({"algorithm": "cmaes"})"),
       }) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  // Those that follow one objective as well as several.
  for (const std::string name : {"nsga2", "tpe", "gp", "auto"}) {
    for (SearcherCase each : CasesOf(name + "_min", R"({"algorithm": ")" + name + R"("})")) {
      each.modes = {Mode::kMin};
      all.push_back(each);
    }
    for (SearcherCase each : CasesOf(name + "_several", R"({"algorithm": ")" + name + R"("})")) {
      each.modes = {Mode::kMax, Mode::kMin};
      all.push_back(each);
    }
  }
  for (SearcherCase each : CasesOf("gp_three", R"({"algorithm": "gp"})")) {
    each.modes = {Mode::kMax, Mode::kMin, Mode::kMin};
    all.push_back(each);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Searchers, SearcherContract, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

SearchSpace Space(std::string_view json) {
  const Result<Value> tree = ParseJson(json);
  EXPECT_TRUE(tree.ok()) << tree.status().message();
  Result<SearchSpace> space = SearchSpace::Parse(*tree);
  EXPECT_TRUE(space.ok()) << space.status().message();
  return *std::move(space);
}

Value Json(std::string_view json) { return *ParseJson(json); }

std::unique_ptr<Searcher> Make(std::string_view search, std::string_view space, uint64_t seed = 1) {
  auto made = MakeSearcher(Json(search), {.space = Space(space), .seed = seed});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::string ErrorOf(std::string_view search, std::string_view space, int64_t samples = 1) {
  const auto made =
      MakeSearcher(Json(search), {.space = Space(space), .samples = samples, .seed = 1});
  EXPECT_FALSE(made.ok());
  return made.status().message();
}

TEST(RandomSearcher, AnotherSeedGivesOtherConfigurations) {
  EXPECT_NE(Make("null", kMixed, 1)->Suggest(TrialNumber{0}),
            Make("null", kMixed, 2)->Suggest(TrialNumber{0}));
}

TEST(RandomSearcher, AddingAParameterLeavesTheDrawsOfTheOthers) {
  const auto one = Make("null", R"({"lr": {"uniform": [0, 1]}})");
  const auto two = Make("null", R"({"dropout": {"uniform": [0, 1]}, "lr": {"uniform": [0, 1]}})");
  for (int64_t n = 0; n < 10; ++n) {
    const auto a = one->Suggest(TrialNumber{n});
    const auto b = two->Suggest(TrialNumber{n});
    EXPECT_EQ(*a->Find("lr"), *b->Find("lr"));
    EXPECT_NE(*b->Find("dropout"), *b->Find("lr"));
  }
}

TEST(RandomSearcher, ConstantsAreInEachConfigurationAsTheyWereWritten) {
  const auto configuration =
      Make("null", R"({"lr": 0.5, "net": {"layers": [1, 2], "x": 1}, "s": "a"})")
          ->Suggest(TrialNumber{3});
  EXPECT_EQ(ToJson(configuration->ToNested()),
            R"({"lr":0.5,"net":{"layers":[1,2],"x":1},"s":"a"})");
}

TEST(RandomSearcher, GridSearchIsRepeatedWithTheRandomParametersRedrawn) {
  constexpr char kSpace[] =
      R"({"a": {"grid_search": [1, 2]}, "r": {"uniform": [0, 1]}, "b": {"grid_search": ["x", "y", "z"]}})";
  EXPECT_EQ(TrialCount(Value(), Space(kSpace), 10), 60);
  EXPECT_EQ(TrialCount(Value(), Space(kSpace), -1), -1);
  const auto searcher = Make("null", kSpace);
  std::map<std::string, int> combinations;
  std::set<double> draws;
  for (int64_t n = 0; n < 18; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    ++combinations[ToJson(*configuration->Find("a")) + ToJson(*configuration->Find("b"))];
    draws.insert(configuration->Find("r")->AsDouble());
  }
  EXPECT_EQ(combinations.size(), 6u);
  for (const auto& [combination, count] : combinations) EXPECT_EQ(count, 3) << combination;
  EXPECT_EQ(draws.size(), 18u);
}

TEST(RandomSearcher, AnEmptySpaceHasOneConfigurationForEveryTrial) {
  const auto configuration = Make("null", "{}")->Suggest(TrialNumber{5});
  ASSERT_TRUE(configuration);
  EXPECT_TRUE(configuration->parameters().empty());
}

TEST(UniqueSearch, GivesEveryCombinationOnceAndThenEnds) {
  // 2 * 3 * 3 combinations; one choice can never be drawn.
  constexpr char kSpace[] =
      R"({"a": {"choice": ["x", "y", "z"], "weights": [1, 1000000, 0]}, "b": {"randint": [1, 4]},
          "d": {"quniform": [0, 1, 0.5]}})";
  const auto searcher = Make(R"({"algorithm": "random", "unique": true})", kSpace);
  std::set<std::string> seen;
  for (int64_t n = 0; n < 18; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    ASSERT_TRUE(configuration) << n;
    EXPECT_TRUE(seen.insert(ToJson(configuration->ToNested())).second);
  }
  EXPECT_EQ(searcher->Suggest(TrialNumber{18}), std::nullopt);
}

TEST(UniqueSearch, DrawsLikePlainRandomUntilSomethingRepeats) {
  const auto plain = Make("null", kMixed);
  const auto unique = Make(R"({"algorithm": "random", "unique": true})", kMixed);
  for (int64_t n = 0; n < 100; ++n) {
    EXPECT_EQ(plain->Suggest(TrialNumber{n}), unique->Suggest(TrialNumber{n}));
  }
}

TEST(UniqueSearch, RefusesWhatMakesNoSense) {
  EXPECT_THAT(ErrorOf(R"({"algorithm": "random", "unique": 1})", "{}"),
              HasSubstr("unique: read 1, expected true or false"));
  EXPECT_THAT(
      ErrorOf(R"({"algorithm": "random", "unique": true})", R"({"a": {"grid_search": [1, 2]}})"),
      HasSubstr("cannot be combined with grid_search"));
}

TEST(GridSearcher, GoesThroughTheProductWithTheLastParameterFastest) {
  const auto searcher =
      Make(R"({"algorithm": "grid"})",
           R"({"a": {"choice": ["x", "y"]}, "k": 7, "b": {"qrandint": [2, 6, 2]}})");
  std::vector<std::string> all;
  for (int64_t n = 0;; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    if (!configuration) break;
    all.push_back(ToJson(configuration->ToNested()));
  }
  EXPECT_THAT(all, testing::ElementsAre(R"({"a":"x","k":7,"b":2})", R"({"a":"x","k":7,"b":4})",
                                        R"({"a":"x","k":7,"b":6})", R"({"a":"y","k":7,"b":2})",
                                        R"({"a":"y","k":7,"b":4})", R"({"a":"y","k":7,"b":6})"));
}

TEST(GridSearcher, TheProductBoundsTheSweep) {
  const Value grid = Json(R"({"algorithm": "grid"})");
  EXPECT_EQ(TrialCount(grid, Space(kDiscrete), -1), 18);
  EXPECT_EQ(TrialCount(grid, Space(kDiscrete), 100), 18);
  EXPECT_EQ(TrialCount(grid, Space(kDiscrete), 5), 5);
}

TEST(GridSearcher, RefusesAContinuousDomainByName) {
  for (const char* domain : {R"({"uniform": [0, 1]})", R"({"loguniform": [1, 2]})",
                             R"({"randn": [0, 1]})", R"({"qrandn": [0, 1, 0.5]})"}) {
    EXPECT_THAT(
        ErrorOf(R"({"algorithm": "grid"})", R"({"net": {"lr": )" + std::string(domain) + "}}"),
        HasSubstr("'net/lr' is "));
  }
}

TEST(GridSearcher, RefusesAGridBeyondTheLimit) {
  EXPECT_THAT(ErrorOf(R"({"algorithm": "grid"})",
                      R"({"a": {"randint": [0, 10000]}, "b": {"randint": [0, 1001]}})"),
              HasSubstr("more than 10000000 combinations"));
  EXPECT_EQ(TrialCount(Json(R"({"algorithm": "grid"})"),
                       Space(R"({"a": {"randint": [0, 10000]}, "b": {"randint": [0, 1000]}})"), -1),
            limits::kGridPointsMax);
}

TEST(MakeSearcher, NamesTheNearestAlgorithmAndOption) {
  EXPECT_THAT(ErrorOf(R"({"algorithm": "randon"})", "{}"), HasSubstr("did you mean 'random'?"));
  EXPECT_THAT(ErrorOf(R"({"algorithm": 3})", "{}"), HasSubstr("read 3, expected an algorithm"));
  EXPECT_THAT(ErrorOf(R"({"algorithm": "grid", "algoritm": 1})", "{}"),
              HasSubstr("'algoritm' is not an option of grid; did you mean 'algorithm'?"));
  EXPECT_THAT(ErrorOf(R"({"sampler": "tpe"})", "{}"), HasSubstr("'algorithm' is missing"));
  EXPECT_THAT(ErrorOf(R"("random")", "{}"), HasSubstr("expected a map such as"));
}

TEST(MakeSearcher, RefusesMoreTrialsThanTheLimit) {
  EXPECT_THAT(ErrorOf("null", R"({"g": {"grid_search": [1, 2]}})", limits::kSamplesMax),
              HasSubstr("makes more than"));
}

}  // namespace
}  // namespace tune
