// Searchers that learn, where results have to keep limits: a value, then a margin for each limit.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/standing.h"
#include "search/searcher.h"
#include "search/trial_split.h"

namespace tune {
namespace {

constexpr char kSquare[] = R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})";

struct Point {
  double x = 0;
  double y = 0;
};
// The objectives, then the margins.
using Function = std::function<std::vector<Metric>(const Point&)>;

struct Sweep {
  std::vector<std::vector<Metric>> told;
  std::vector<std::string> configurations;

  bool IsFeasible(const std::vector<Metric>& one, size_t objectives) const {
    return ViolationOf(Objectives(one).subspan(objectives)) == 0;
  }
  // The lowest value of those that keep the limits, of one objective.
  double best() const {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& one : told) {
      if (IsFeasible(one, 1)) best = std::fmin(best, *one[0]);
    }
    return best;
  }
  int64_t FeasibleCount(size_t objectives = 1) const {
    int64_t count = 0;
    for (const auto& one : told) count += IsFeasible(one, objectives) ? 1 : 0;
    return count;
  }
};

Sweep Search(const std::string& search, int64_t trials, size_t workers, const Function& function,
             std::vector<Mode> modes = {Mode::kMin}, uint64_t seed = 1) {
  const size_t limits = function({0.5, 0.5}).size() - modes.size();
  auto searcher =
      MakeSearcher(*ParseJson(search), {.space = *SearchSpace::Parse(*ParseJson(kSquare)),
                                        .modes = std::move(modes),
                                        .limit_count = limits,
                                        .seed = seed});
  EXPECT_TRUE(searcher.ok()) << searcher.status().message();
  Sweep sweep;
  std::deque<std::pair<int64_t, Point>> running;
  for (int64_t n = 0; n < trials; ++n) {
    const auto configuration = (*searcher)->Suggest(TrialNumber{n});
    EXPECT_TRUE(configuration.has_value());
    sweep.configurations.push_back(ToJson(configuration->ToFlat()));
    running.emplace_back(
        n, Point{configuration->Find("x")->AsDouble(), configuration->Find("y")->AsDouble()});
    if (running.size() < workers) continue;
    sweep.told.push_back(function(running.front().second));
    (*searcher)->OnTrialEnded(TrialNumber{running.front().first}, sweep.told.back(), false);
    running.pop_front();
  }
  return sweep;
}

// The best without the limit, 0, is at the corner; with it 0.5, in the middle of its edge.
std::vector<Metric> Corner(const Point& p) { return {p.x * p.x + p.y * p.y, 1 - p.x - p.y}; }

TEST(Limits, EachSearcherThatLearnsComesToTheBestThatKeepsThem) {
  struct Case {
    const char* search;
    int64_t trials;
    double most;
  };
  for (const auto& [search, trials, most] :
       {Case{R"({"algorithm": "gp"})", 30, 0.51}, Case{R"({"algorithm": "tpe"})", 80, 0.53},
        Case{R"({"algorithm": "cmaes"})", 150, 0.53},
        Case{R"({"algorithm": "nsga2"})", 250, 0.54}}) {
    const Sweep sweep = Search(search, trials, 1, Corner);
    EXPECT_LT(sweep.best(), most) << search;
    EXPECT_GE(sweep.best(), 0.5) << search;
  }
}

TEST(Limits, AGaussianProcessLooksForWhatIsFeasibleWhileNothingIs) {
  // A hundredth of the square keeps it; random search needs about a hundred trials.
  const auto small = [](const Point& p) {
    return std::vector<Metric>{p.x, (std::hypot(p.x - 0.8, p.y - 0.3) - 0.056) / 0.056};
  };
  const Sweep sweep = Search(R"({"algorithm": "gp"})", 40, 1, small);
  EXPECT_GT(sweep.FeasibleCount(), 3);
  EXPECT_LT(sweep.best(), 0.76);
}

TEST(Limits, AGaussianProcessWithFourWorkersKeepsSeveralLimits) {
  // Of the disc around (0.7, 0.7) the part below 0.6 in y.
  const auto several = [](const Point& p) {
    return std::vector<Metric>{p.x + p.y, std::hypot(p.x - 0.7, p.y - 0.7) - 0.2, p.y - 0.6};
  };
  const Sweep sweep = Search(R"({"algorithm": "gp"})", 60, 4, several);
  EXPECT_LT(sweep.best(), 1.13) << "the least is 1.1172";
}

TEST(Limits, WithSeveralObjectivesTheFrontIsOfThoseThatKeepThem) {
  const auto front = [](const Point& p) { return std::vector<Metric>{p.x, p.y, 1 - p.x - p.y}; };
  // Of random points one in twenty is near to the front and feasible.
  struct Case {
    const char* search;
    int64_t trials;
    int64_t near_min;
  };
  for (const auto& [search, trials, near_min] :
       {Case{R"({"algorithm": "gp"})", 60, 25}, Case{R"({"algorithm": "tpe"})", 60, 10},
        Case{R"({"algorithm": "nsga2", "population_size": 16})", 250, 40}}) {
    const Sweep sweep = Search(search, trials, 1, front, {Mode::kMin, Mode::kMin});
    int64_t near = 0;
    for (const auto& one : sweep.told) {
      near += sweep.IsFeasible(one, 2) && *one[0] + *one[1] < 1.1 ? 1 : 0;
    }
    EXPECT_GE(near, near_min) << search;
  }
}

TEST(Limits, WhatNobodyCanTellIsInfeasible) {
  const auto unknown = [](const Point& p) {
    return std::vector<Metric>{p.x, p.y < 0.5 ? Metric() : Metric(-p.y)};
  };
  for (const char* const search : {R"({"algorithm": "gp"})", R"({"algorithm": "tpe"})",
                                   R"({"algorithm": "nsga2", "population_size": 16})"}) {
    const Sweep sweep = Search(search, 60, 1, unknown);
    EXPECT_GT(sweep.FeasibleCount(), 35) << search;
  }
}

TEST(Limits, ThatNothingKeepsStillLeadToTheLeastViolation) {
  const auto never = [](const Point& p) { return std::vector<Metric>{p.x, 0.1 + p.y}; };
  for (const char* const search :
       {R"({"algorithm": "gp"})", R"({"algorithm": "tpe"})", R"({"algorithm": "cmaes"})"}) {
    double least = 9;
    for (const auto& one : Search(search, 60, 1, never).told) least = std::min(least, *one[1]);
    EXPECT_LT(least, 0.12) << search;
  }
}

TEST(Limits, TheSameSeedLeadsToTheSameConfigurations) {
  for (const char* const search : {R"({"algorithm": "gp"})", R"({"algorithm": "tpe"})",
                                   R"({"algorithm": "cmaes"})", R"({"algorithm": "nsga2"})"}) {
    EXPECT_EQ(Search(search, 30, 4, Corner).configurations,
              Search(search, 30, 4, Corner).configurations)
        << search;
  }
}

TEST(Limits, ARepeatedConfigurationIsJudgedByTheMeansOfItsRuns) {
  const Sweep sweep = Search(R"({"algorithm": "gp", "repeat": 2})", 60, 1, Corner);
  EXPECT_LT(sweep.best(), 0.52);
}

TEST(Limits, ASplitPutsFeasibleTrialsFirst) {
  std::vector<ObservedTrial> trials(4);
  const double losses[] = {0.1, 0.9, 0.8, 0.2};
  const double violations[] = {0.5, 0, 0, 0.1};
  for (size_t i = 0; i < trials.size(); ++i) {
    trials[i].state = ObservedTrial::State::kEnded;
    trials[i].losses = {losses[i]};
    trials[i].violation = violations[i];
  }
  SplitRule rule;
  rule.gamma = 1;
  EXPECT_EQ(SplitByLoss(trials, rule, std::nullopt).good, (std::vector<size_t>{2, 1, 3, 0}));
}

}  // namespace
}  // namespace tune
