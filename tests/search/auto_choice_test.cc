#include "search/auto_choice.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace tune {
namespace {

std::string ChosenFor(std::string_view space, int64_t samples, size_t objectives = 1) {
  SearchProblem problem;
  problem.space = *SearchSpace::Parse(*ParseJson(space));
  problem.samples = samples;
  problem.modes.assign(objectives, Mode::kMin);
  const AutoChoice choice = ChooseAlgorithm(problem);
  const std::string name = choice.search.Find("algorithm")->AsString();
  EXPECT_TRUE(choice.why.starts_with(name + ": ")) << choice.why;
  EXPECT_TRUE(MakeAutoSearcher(Value(), problem).ok());
  return name;
}

constexpr char kNumbers[] = R"({"x": {"uniform": [0, 1]}, "lr": {"loguniform": [1e-5, 1]}})";

std::string Many(int count) {
  std::string space = "{";
  for (int i = 0; i < count; ++i) {
    space += (i == 0 ? "" : ", ") + ("\"x" + std::to_string(i)) + R"(": {"uniform": [0, 1]})";
  }
  return space + "}";
}

TEST(AutoChoice, FollowsSpaceAndBudget) {
  EXPECT_EQ(ChosenFor(R"({"x": 1})", 10), "random");
  EXPECT_EQ(ChosenFor(R"({"x": {"grid_search": [1, 2]}})", 10), "random");
  EXPECT_EQ(ChosenFor(R"({"x": {"choice": [1, 2, 3]}})", 10), "grid");
  EXPECT_EQ(ChosenFor(kNumbers, 5), "sobol");
  EXPECT_EQ(ChosenFor(kNumbers, 50), "gp");
  EXPECT_EQ(ChosenFor(kNumbers, -1), "gp");
  EXPECT_EQ(ChosenFor(kNumbers, 1000), "gp");
  EXPECT_EQ(ChosenFor(kNumbers, 5000), "cmaes");
  EXPECT_EQ(ChosenFor(Many(50), 100), "gp");
  EXPECT_EQ(ChosenFor(Many(51), 100), "tpe");
  EXPECT_EQ(ChosenFor(R"({"a": {"choice": [1, 2, 3, 4]}, "b": {"choice": [1, 2, 3, 4, 5]},
                          "c": {"uniform": [0, 1]}})",
                      50),
            "gp");
  EXPECT_EQ(ChosenFor(R"({"kind": {"choice": ["a", "b"]}, "y": {"uniform": [0, 1]},
                          "x": {"uniform": [0, 1], "when": {"kind": "a"}}})",
                      50),
            "gp");
  EXPECT_EQ(ChosenFor(R"({"kind": {"choice": ["a", "b"]},
                          "x": {"uniform": [0, 1], "when": {"kind": "a"}}})",
                      5000),
            "gp");
  EXPECT_EQ(ChosenFor(kNumbers, 50, 2), "gp");
  EXPECT_EQ(ChosenFor(kNumbers, -1, 3), "gp");
  EXPECT_EQ(ChosenFor(kNumbers, -1, 5), "tpe");
  EXPECT_EQ(ChosenFor(kNumbers, 800, 2), "tpe");
  EXPECT_EQ(ChosenFor(kNumbers, 5000, 2), "nsga2");
}

TEST(AutoChoice, WithoutALimitOfTrialsOnlyASmallGridIsGoneThrough) {
  EXPECT_EQ(ChosenFor(R"({"x": {"choice": [1, 2, 3]}})", -1), "grid");
  const std::string eight = R"({"choice": [1, 2, 3, 4, 5, 6, 7, 8]})";
  const std::string large = R"({"a": )" + eight + R"(, "b": )" + eight + R"(, "c": )" + eight +
                            R"(, "d": )" + eight + "}";
  EXPECT_EQ(ChosenFor(large, -1), "gp");
  EXPECT_EQ(ChosenFor(large, 4096), "grid");
}

TEST(AutoChoice, LearnsWhereThereIsAnEarlierSweep) {
  for (const char* const space : {kNumbers, R"({"x": {"choice": [1, 2, 3]}})"}) {
    SearchProblem problem;
    problem.space = *SearchSpace::Parse(*ParseJson(space));
    problem.samples = 5;
    problem.has_earlier = true;
    const auto searcher = MakeAutoSearcher(Value(), problem);
    ASSERT_TRUE(searcher.ok());
    EXPECT_TRUE((*searcher)->LearnsFromResults()) << space;
  }
}

TEST(AutoChoice, TakesNoOptionsOfOthers) {
  SearchProblem problem;
  problem.space = *SearchSpace::Parse(*ParseJson(kNumbers));
  const Value options = *ParseJson(R"({"algorithm": "auto", "gamma": 1})");
  EXPECT_EQ(MakeAutoSearcher(options, problem).status().message(),
            "search: 'gamma' is not an option of auto; known are algorithm, per, "
            "unique, repeat");
}

TEST(AutoChoice, AGridIsTakenWhereItHasRoomBesideThePoints) {
  SearchProblem problem;
  problem.space = *SearchSpace::Parse(*ParseJson(R"({"x": {"choice": [1, 2, 3]}, "y": 1})"));
  problem.samples = 4;
  problem.points.resize(1);
  EXPECT_EQ(*ChooseAlgorithm(problem).search.Find("algorithm"), Value("grid"));
  problem.points.resize(2);
  EXPECT_NE(*ChooseAlgorithm(problem).search.Find("algorithm"), Value("grid"));
  problem.rules = SearchRules::kFrom13;
  EXPECT_EQ(*ChooseAlgorithm(problem).search.Find("algorithm"), Value("grid"));
}

// As before decision version 13.
TEST(AutoChoice, SweepOfAnOlderBuildKeepsTheRulesThatItWasBegunBy) {
  const auto chosen_for = [](std::string_view space, int64_t samples, size_t objectives = 1) {
    SearchProblem problem;
    problem.space = *SearchSpace::Parse(*ParseJson(space));
    problem.samples = samples;
    problem.modes.assign(objectives, Mode::kMin);
    problem.rules = SearchRules::kFirst;
    return ChooseAlgorithm(problem).search.Find("algorithm")->AsString();
  };
  EXPECT_EQ(chosen_for(kNumbers, 50, 2), "tpe");
  EXPECT_EQ(chosen_for(kNumbers, -1, 2), "nsga2");
  EXPECT_EQ(chosen_for(kNumbers, 1000, 2), "nsga2");
  EXPECT_EQ(chosen_for(kNumbers, 50), "gp");
  EXPECT_EQ(chosen_for(Many(20), 50), "gp");
  EXPECT_EQ(chosen_for(Many(21), 50), "tpe");
  EXPECT_EQ(chosen_for(R"({"a": {"choice": [1, 2]}, "b": {"choice": [1, 2]},
                           "c": {"uniform": [0, 1]}})",
                       50),
            "tpe");
  EXPECT_EQ(chosen_for(R"({"kind": {"choice": ["a", "b"]}, "y": {"uniform": [0, 1]},
                           "x": {"uniform": [0, 1], "when": {"kind": "a"}}})",
                       50),
            "tpe");
}

}  // namespace
}  // namespace tune
