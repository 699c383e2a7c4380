#include "search/gp/prior.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "search/searcher.h"

namespace tune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kSpace[] = R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})";
using Loss = std::function<double(double x, double y)>;

double Valley(double x, double y) { return std::pow(x - 0.8, 2) + 3 * std::pow(y - 0.3, 2); }

Configuration At(double x, double y) {
  Configuration configuration;
  configuration.Set("x", Value(x));
  configuration.Set("y", Value(y));
  return configuration;
}

// 40 trials spread over the space.
std::vector<EarlierTrial> Spread(const Loss& loss) {
  std::vector<EarlierTrial> trials;
  KeyedRandom random(1, "prior test", 0);
  for (int i = 0; i < 40; ++i) {
    const double x = random.NextUniform(0, 1);
    const double y = random.NextUniform(0, 1);
    trials.push_back({At(x, y), {{1, {loss(x, y)}}}, false});
  }
  return trials;
}

SearchProblem Problem(std::vector<EarlierTrial> prior, std::string_view space = kSpace) {
  SearchProblem problem{
      .space = *SearchSpace::Parse(*ParseJson(space)), .modes = {Mode::kMin}, .seed = 5};
  problem.has_prior = true;
  problem.prior = std::move(prior);
  return problem;
}

// The best of `count` trials, and what was said meanwhile.
struct Course {
  double best = 1e9;
  std::vector<Configuration> tried;
  std::string news;
};
Course Search(SearchProblem problem, const Loss& loss, int64_t count,
              const char* search = R"({"algorithm": "gp"})") {
  auto made = MakeSearcher(*ParseJson(search), std::move(problem));
  EXPECT_TRUE(made.ok()) << made.status().message();
  Course course;
  for (int64_t n = 0; n < count; ++n) {
    const auto configuration = (*made)->Suggest(TrialNumber{n});
    const Metric value =
        loss(configuration->Find("x")->AsDouble(), configuration->Find("y")->AsDouble());
    course.best = std::min(course.best, *value);
    course.tried.push_back(*configuration);
    (*made)->OnTrialEnded(TrialNumber{n}, {&value, 1}, false);
    course.news += (*made)->TakeNews();
  }
  return course;
}

double OtherScale(double x, double y) { return 70 - 20 * std::exp(-Valley(x, y)); }
double TurnedRound(double x, double y) { return Valley(1 - x, 1 - y); }

TEST(Prior, ItsBestTrialIsTriedFirstAndItsValueIsNotTakenForAResult) {
  const Course course = Search(Problem(Spread(OtherScale)), Valley, 12);
  // The best of the forty lies this near to the valley's ground; without a prior the first is the
  // middle of some cell.
  const Configuration& first = course.tried[0];
  EXPECT_LT(Valley(first.Find("x")->AsDouble(), first.Find("y")->AsDouble()), 0.02);
  EXPECT_LT(course.best, 1e-3);
}

TEST(Prior, ItsBestTrialIsStillTriedWherePointsComeFirst) {
  const std::vector<EarlierTrial> earlier = Spread(OtherScale);
  const Configuration best = Search(Problem(earlier), Valley, 1).tried[0];
  SearchProblem problem = Problem(earlier);
  for (const double x : {0.1, 0.2, 0.3}) problem.points.push_back(At(x, 0.9));
  const Course course = Search(std::move(problem), Valley, 12);
  EXPECT_THAT(course.tried, Contains(best));
  EXPECT_THAT(course.news, HasSubstr("the prior explains a part of the results"));
}

TEST(Prior, WhatTheConstraintsForbidIsNoneOfItsBest) {
  SearchProblem problem = Problem(Spread(OtherScale));
  problem.space = *SearchSpace::Parse(*ParseJson(kSpace), *ParseJson(R"(["x < 0.6"])"));
  const UnitSpace unit(problem.space);
  const AcquisitionSearch acquisition(unit);
  const Prior prior(problem, acquisition);
  ASSERT_NE(prior.Favourite(4), nullptr);
  for (size_t i = 0; prior.Favourite(i) != nullptr; ++i) {
    EXPECT_LT((*prior.Favourite(i))[0]->mid(), 0.6);
  }
}

TEST(Prior, OneThatIsAlikeCountsAndSaysSo) {
  EXPECT_THAT(Search(Problem(Spread(OtherScale)), Valley, 12).news,
              HasSubstr("the prior explains a part of the results"));
}

TEST(Prior, OneThatIsUnlikeDoesNotCountAndCostsLittle) {
  const Course course = Search(Problem(Spread(TurnedRound)), Valley, 25);
  EXPECT_THAT(course.news, HasSubstr("so far the prior explains nothing of the results"));
  EXPECT_LT(course.best, 1e-3);
}

TEST(Prior, ItDoesNotKnowAParameterThatItDidNotHave) {
  std::vector<EarlierTrial> trials = Spread(Valley);
  for (EarlierTrial& trial : trials) {
    Configuration without;
    without.Set("x", *trial.configuration.Find("x"));
    trial.configuration = without;
  }
  const SearchProblem problem = Problem(trials);
  const UnitSpace unit(problem.space);
  const AcquisitionSearch acquisition(unit);
  Prior prior(problem, acquisition);
  ASSERT_NE(prior.Favourite(0), nullptr);
  EXPECT_TRUE((*prior.Favourite(0))[0].has_value());
  EXPECT_FALSE((*prior.Favourite(0))[1].has_value());
  EXPECT_EQ(prior.Favourite(1000), nullptr);
  Points points(3, 2);
  points << 0.8, 0.1, 0.8, 0.9, 0.1, 0.1;
  const Eigen::ArrayXd means = prior.surrogate()->Means(points);
  EXPECT_DOUBLE_EQ(means[0], means[1]);
  EXPECT_LT(means[0], means[2]);
}

TEST(Prior, OfTrialsThatAllFailedNothingIsLearned) {
  std::vector<EarlierTrial> trials = Spread(Valley);
  for (EarlierTrial& trial : trials) trial.reports.clear(), trial.has_failed = true;
  EXPECT_LT(Search(Problem(trials), Valley, 25).best, 1e-3);
}

TEST(Prior, AutoTakesGpForIt) {
  EXPECT_THAT(Search(Problem(Spread(OtherScale)), Valley, 12, R"({"algorithm": "auto"})").news,
              HasSubstr("the prior explains a part"));
}

TEST(Prior, SearchesWithoutAModelOfItAndSeveralMetricsAreRefused) {
  const auto error_of = [](const char* search, std::vector<Mode> modes) {
    SearchProblem problem = Problem({});
    problem.modes = std::move(modes);
    return MakeSearcher(*ParseJson(search), problem).status().message();
  };
  EXPECT_THAT(error_of(R"({"algorithm": "tpe"})", {Mode::kMin}),
              HasSubstr("it is gp that learns from a prior, and here the search is tpe; write "
                        "{algorithm: gp}, or from: NAME"));
  EXPECT_THAT(error_of(R"({"algorithm": "gp"})", {Mode::kMin, Mode::kMax}),
              HasSubstr("from: a prior is of one metric, and there are 2"));
  EXPECT_EQ(error_of(R"({"algorithm": "auto"})", {Mode::kMin}), "");
}

}  // namespace
}  // namespace tune
