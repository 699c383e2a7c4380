// The course of a sweep on its page, read while the sweep goes on.
#include "tuner/page/sweep_course.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// Two trials that run.
class SweepCourseTest : public ::testing::Test {
 protected:
  SweepCourseTest() : store_(OpenStore(folder_ / "tune.db")) {
    const auto experiment = store_->CreateExperiment(SampleExperiment("s"));
    EXPECT_TRUE(experiment.ok());
    id_ = experiment->id;
    Transition rows;
    for (const int64_t number : {0, 1}) rows.new_trials.push_back(SampleTrial(number));
    Commit(rows);
    sweep_.id = id_.value;
    sweep_.mode = "max";
    course_.emplace(sweep_);
    auto database = Database::Open(folder_ / "tune.db", Access::kRead);
    EXPECT_TRUE(database.ok());
    database_ = *std::move(database);
  }

  void Commit(const Transition& rows) {
    ++step_;
    const Status status =
        store_->Commit(id_, {step_, SampleTime(step_), EncodeEvents({DeadlinePassed{}})}, rows);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // Without a value: in part.
  void Report(int64_t trial, int64_t iteration, Metric value) {
    Transition rows;
    rows.reports = {SampleReport(trial, 1, iteration, value.value_or(0))};
    ReportRow& row = rows.reports[0];
    row.reported_at = SampleTime(step_ + 1);
    row.value = value;
    if (value) row.decision = SampleDecision(Verdict::kContinue, iteration, 0.1, 1, 1);
    if (!value) row.metrics = {{"train_loss", 0.5}};
    Commit(rows);
  }

  // The values that were the best, after another look.
  std::vector<double> Look() {
    const Result<bool> is_more = course_->Refresh(*database_);
    EXPECT_TRUE(is_more.ok()) << is_more.status().message();
    std::vector<double> values;
    for (const SweepCourse::Step& step : course_->best()) values.push_back(step.value);
    return values;
  }

  TempFolder folder_{/*in_memory=*/true};
  std::unique_ptr<SqliteStore> store_;
  ExperimentId id_;
  FoundSweep sweep_;
  std::optional<SweepCourse> course_;
  std::unique_ptr<Database> database_;
  int64_t step_ = 0;
};

TEST_F(SweepCourseTest, AReportCountsOnceItsLastPartIsThere) {
  Report(0, 1, std::nullopt);
  EXPECT_THAT(Look(), IsEmpty());
  Report(1, 1, 0.5);
  EXPECT_THAT(Look(), ElementsAre(0.5));
  Report(0, 1, 0.75);
  EXPECT_THAT(Look(), ElementsAre(0.5, 0.75));
  EXPECT_THAT(course_->Json(), HasSubstr(R"({"rung":1,"reached":2,)"));
  EXPECT_THAT(course_->Json(), HasSubstr(R"("reports":2)"));
  EXPECT_THAT(Look(), ElementsAre(0.5, 0.75)) << "it counts once";
}

TEST_F(SweepCourseTest, BestValuesStandInTheOrderInWhichTheyBecameWhole) {
  Report(0, 1, std::nullopt);
  EXPECT_THAT(Look(), IsEmpty());
  Report(1, 1, 0.5);
  Report(0, 1, 0.75);
  Report(1, 2, 0.9);
  EXPECT_THAT(Look(), ElementsAre(0.5, 0.75, 0.9));
}

TEST_F(SweepCourseTest, APartThatIsTheLastReportIsReadOnAsTheOthersAre) {
  Report(0, 1, std::nullopt);
  EXPECT_THAT(Look(), IsEmpty());
  Report(0, 1, 0.5);
  EXPECT_THAT(Look(), ElementsAre(0.5));
  Report(0, 2, std::nullopt);
  EXPECT_THAT(Look(), ElementsAre(0.5));
  Report(0, 2, 0.75);
  EXPECT_THAT(Look(), ElementsAre(0.5, 0.75));
}

ReportRow Told(int64_t trial, int64_t attempt, int64_t iteration, double value) {
  return SampleReport(trial, attempt, iteration, value);
}

ReportRow Decided(int64_t trial, int64_t attempt, int64_t iteration, double value) {
  ReportRow row = Told(trial, attempt, iteration, value);
  row.decision = Decision();
  return row;
}

NewTrialRow Trial(int64_t number, int64_t best_iteration, double best_value) {
  NewTrialRow row = SampleTrial(number);
  row.trial.status = TrialStatus::kTerminated;
  row.trial.best_iteration = best_iteration;
  row.trial.best_value = best_value;
  return row;
}

// Trials and values of the steps, in a database of its own.
std::vector<std::pair<int64_t, double>> CourseOf(const std::string& trainable,
                                                 const Transition& rows) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    NewExperiment wanted = SampleExperiment("s");
    wanted.spec = R"({"name":"s","metric":"val_accuracy","mode":"max","trainable":)" + trainable +
                  R"(,"space":{"x":{"uniform":[0,1]}}})";
    const auto experiment = store->CreateExperiment(wanted);
    EXPECT_TRUE(experiment.ok()) << experiment.status().message();
    EXPECT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  const auto database = OpenForQueries(path);
  const auto sweep = FindSweep(**database, "s");
  EXPECT_TRUE(sweep.ok());
  SweepCourse course(*sweep);
  EXPECT_TRUE(course.Refresh(**database).ok());
  std::vector<std::pair<int64_t, double>> steps;
  for (const SweepCourse::Step& step : course.best()) steps.emplace_back(step.number, step.value);
  return steps;
}

TEST(SweepCourse, WhatIsToldCountsThoughNothingDecidesOnIt) {
  Transition rows;
  rows.new_trials = {Trial(0, 2, 0.5), Trial(1, 1, 0.75)};
  rows.reports = {Told(0, 1, 1, 0.25), Told(0, 1, 2, 0.5), Told(1, 1, 1, 0.75)};
  EXPECT_THAT(CourseOf(R"("ask-tell")", rows),
              ElementsAre(Pair(0, 0.25), Pair(0, 0.5), Pair(1, 0.75)));
}

TEST(SweepCourse, AnIterationThatCameAgainCountsWhereItIsItsTrialsBest) {
  Transition rows;
  // Trial 0 took over another configuration and did better at iteration 1; trial 1 was retried, and
  // what it reported then counts for nothing.
  rows.new_trials = {Trial(0, 1, 0.75), Trial(1, 1, 0.5)};
  rows.reports = {Decided(0, 1, 1, 0.25), Decided(1, 1, 1, 0.5), Told(1, 2, 1, 0.9),
                  Told(0, 2, 1, 0.75)};
  EXPECT_THAT(CourseOf(R"({"curve":{"value":"x"}})", rows),
              ElementsAre(Pair(0, 0.25), Pair(1, 0.5), Pair(0, 0.75)));
}

}  // namespace
}  // namespace tune
