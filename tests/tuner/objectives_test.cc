// Sweeps of several objectives: what the searcher hears, and the front that takes the best trial's
// place.
#include <gtest/gtest.h>

#include "tests/tuner/controller_world.h"
#include "tuner/cli/look/front_course.h"
#include "tuner/cli/look/pareto_front.h"

namespace tune {
namespace {

using testing::ControllerWorld;

constexpr TrialNumber kFirst{0};

std::vector<int64_t> Numbers(const std::vector<ObjectiveValues>& front) {
  std::vector<int64_t> numbers;
  for (const ObjectiveValues& trial : front) numbers.push_back(trial.trial);
  return numbers;
}

TEST(ParetoFront, IsWhatNoOtherBeatsEachObjectiveInItsDirection) {
  const std::vector<Objective> objectives = {{"accuracy", Mode::kMax}, {"latency", Mode::kMin}};
  const std::vector<ObjectiveValues> trials = {
      {0, {0.9, 50}}, {1, {0.8, 20}}, {2, {0.8, 30}}, {3, {0.7, 20}}, {4, {0.5, 10}}};
  EXPECT_EQ(Numbers(ParetoFront(trials, objectives)), (std::vector<int64_t>{0, 1, 4}));
  EXPECT_EQ(DescribeFront(ParetoFront(trials, objectives)), "3 trials (0, 1, 4)");
}

TEST(ParetoFront, IsOfTrialsThatKeepTheLimitsUnlessNoneDoes) {
  const std::vector<Objective> objectives = {{"accuracy", Mode::kMax}, {"latency", Mode::kMin}};
  std::vector<ObjectiveValues> trials = {
      {0, {0.9, 50}, 0.5}, {1, {0.8, 20}, 0}, {2, {0.8, 30}, 0}, {3, {0.5, 10}, 0.25}};
  EXPECT_EQ(Numbers(ParetoFront(trials, objectives)), (std::vector<int64_t>{1}));
  EXPECT_EQ(WarningOf({"a < 1"}, ParetoFront(trials, objectives)), "");
  trials.erase(trials.begin() + 1, trials.begin() + 3);
  EXPECT_EQ(Numbers(ParetoFront(trials, objectives)), (std::vector<int64_t>{3}));
  EXPECT_EQ(WarningOf({"a < 1"}, ParetoFront(trials, objectives)),
            "no trial is feasible: none kept a < 1; the best is the one that violates them least, "
            "by 0.25");
}

TEST(FrontCourse, IsTheVolumeOfTheTrialsThatHaveEndedAndKeepTheLimits) {
  const std::vector<Objective> objectives = {{"accuracy", Mode::kMax}, {"latency", Mode::kMin}};
  const std::vector<ObjectiveValues> trials = {
      {4, {0.5, 20}, 0}, {0, {0.4, 30}, 0}, {2, {0.9, 10}, 0.1}, {1, {0.75, 20}, 0}};
  const FrontCourse course = CourseOf(trials, objectives, {0.25, 40});
  ASSERT_EQ(course.steps.size(), 2u) << "trial 0 adds nothing, trial 2 breaks the limits";
  EXPECT_EQ(course.steps[0].trial, 4);
  EXPECT_DOUBLE_EQ(course.steps[0].value, 0.25 * 20);
  EXPECT_EQ(course.steps[1].ended, 4);
  EXPECT_DOUBLE_EQ(course.steps[1].value, 0.5 * 20);
  EXPECT_EQ(DescribeCourse(course), "hypervolume 10 after 4 trials; below 0.25 and 40");
}

TEST(FrontCourse, WithoutAReferenceItIsBelowTheWorstThatWasSeen) {
  const std::vector<Objective> objectives = {{"accuracy", Mode::kMax}, {"latency", Mode::kMin}};
  const FrontCourse course = CourseOf({{0, {0.5, 20}}, {1, {1.0, 40}}}, objectives, {});
  EXPECT_FALSE(course.is_reference_given);
  EXPECT_NEAR(course.reference[0], 0.45, 1e-12);
  EXPECT_NEAR(course.reference[1], 42, 1e-12);
  EXPECT_TRUE(CourseOf({}, objectives, {}).steps.empty());
}

TEST(FrontCourse, OfOneObjectiveIsTheBestSoFar) {
  const FrontCourse course =
      CourseOf({{3, {0.5}}, {1, {0.4}}, {0, {0.7}}}, {{"accuracy", Mode::kMax}}, {});
  ASSERT_EQ(course.steps.size(), 2u);
  EXPECT_EQ(course.steps[1].trial, 0);
  EXPECT_EQ(course.steps[1].value, 0.7);
  EXPECT_EQ(DescribeCourse(course), "");
}

ExperimentSpec TwoObjectives() {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 1;
  spec.more_objectives = {{"latency", Mode::kMin}};
  return spec;
}

Event WithLatency(Event event, double latency) {
  std::get<ReportArrived>(event).message.report.metrics.emplace_back("latency", latency);
  return event;
}

TEST(Objectives, TheLastReportWithAllOfThemCounts) {
  ControllerWorld world(TwoObjectives());
  const WorkerId worker = world.Join(1);
  world.Apply({WithLatency(world.NextReport(worker, kFirst, 0.3), 5)});
  world.Apply({WithLatency(world.NextReport(worker, kFirst, 0.2), 7)});
  world.Apply({world.NextReport(worker, kFirst, 0.9)});
  EXPECT_EQ(world.controller().trials()[0].whole_values, (std::vector<double>{0.2, 7}));
  EXPECT_EQ(world.trials.at(kFirst).best_value, 0.9);  // Of the first objective.
}

TEST(Objectives, OneThatIsMissingIsSaidOnce) {
  ControllerWorld world(TwoObjectives());
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  world.Apply({world.NextReport(worker, kFirst, 0.4)});
  ASSERT_EQ(world.said.size(), 1u);
  EXPECT_EQ(world.said[0],
            "trial 0 reported no latency: a report without one of the objectives counts for "
            "nothing");
}

}  // namespace
}  // namespace tune
