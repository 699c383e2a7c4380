// The course of a sweep on its page, read while the sweep goes on.
#include "tuner/page/sweep_course.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace tune
