#include "tuner/export/tensorboard_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/tuner/export/exported_sweep.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

class TensorboardLogTest : public ::testing::Test {
 protected:
  TensorboardLogTest() : store_(OpenStore(folder_ / "tune.db")) {
    sweep_.id = WriteExportedSweep(*store_, "food", ExportedSpec()).value;
    sweep_.name = "food";
    sweep_.objectives = {{"val_accuracy", Mode::kMax}};
    sweep_.created_at = kSampleStart;
  }

  std::unique_ptr<TensorboardLog> Open() {
    Result<std::unique_ptr<TensorboardLog>> log =
        TensorboardLog::Open(folder_ / "tune.db", sweep_, folder_ / "runs");
    EXPECT_TRUE(log.ok()) << log.status().message();
    return *std::move(log);
  }

  // Iteration 2 of trial 3, committed as the journal's next step.
  void Report(int64_t step, int64_t iteration) {
    Transition rows;
    rows.reports = {SampleReport(3, 1, iteration, 0.625)};
    rows.reports[0].decision = Decision();
    const Status status = store_->Commit(
        ExperimentId{sweep_.id}, {step, SampleTime(30), EncodeEvents({DeadlinePassed{}})}, rows);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  // The same in part, or as a whole, by one attempt of trial 3.
  void Report(int64_t step, int64_t attempt, int64_t iteration, const Metrics& metrics) {
    Transition rows;
    ReportRow row;
    row.trial = TrialNumber{3};
    row.attempt = AttemptNumber{attempt};
    row.iteration = iteration;
    row.metrics = metrics;
    row.reported_at = SampleTime(30 + step);
    const bool is_whole = metrics.front().first == "val_accuracy";
    if (is_whole) row.value = metrics.front().second;
    if (is_whole) row.decision = Decision();
    rows.reports = {row};
    const Status status = store_->Commit(
        ExperimentId{sweep_.id}, {step, SampleTime(30), EncodeEvents({DeadlinePassed{}})}, rows);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::string File(int64_t trial) const {
    return folder_ / ("runs/" + std::to_string(trial) + "/" + EventFileName(kSampleStart));
  }

  TempFolder folder_{/*in_memory=*/true};
  std::unique_ptr<SqliteStore> store_;
  ExportedSweep sweep_;
};

TEST_F(TensorboardLogTest, HasTheSameRunsAsAnExport) {
  const std::unique_ptr<TensorboardLog> log = Open();
  EXPECT_EQ(log->Follow(SampleTime(21)), std::nullopt);
  EXPECT_EQ(log->Finish(), std::nullopt);
  ASSERT_EQ(Export(folder_, "tensorboard", {folder_ / "out"}).exit_status, 0);
  for (const int64_t trial : {0, 1, 2, 3}) {
    const std::string name = std::to_string(trial) + "/" + EventFileName(kSampleStart);
    EXPECT_EQ(ReadText(folder_ / ("runs/" + name)), ReadText(folder_ / ("out/" + name))) << trial;
  }
  EXPECT_FALSE(fs::exists(folder_ / "runs/4")) << "it has not begun";
}

TEST_F(TensorboardLogTest, AppendsWhatIsCommitted) {
  const std::unique_ptr<TensorboardLog> log = Open();
  (void)log->Follow(SampleTime(21));
  const std::string before = ReadText(File(3));
  Report(2, 2);
  EXPECT_EQ(log->Follow(SampleTime(31)), std::nullopt);
  EXPECT_EQ(
      ReadText(File(3)),
      before + ScalarsRecord(SampleTime(12), 2, {{"val_accuracy", 0.625}, {"val_loss", 0.375}}));
  const std::string after = ReadText(File(3));
  EXPECT_EQ(log->Follow(SampleTime(32)), std::nullopt);
  EXPECT_EQ(ReadText(File(3)), after) << "nothing was committed since";
}

TEST_F(TensorboardLogTest, AnIterationThatIsReportedInPartsIsWrittenAsAWhole) {
  const std::unique_ptr<TensorboardLog> log = Open();
  (void)log->Follow(SampleTime(21));
  const std::string before = ReadText(File(3));
  Report(2, 1, 2, {{"train_loss", 0.5}});
  (void)log->Follow(SampleTime(31));
  EXPECT_EQ(ReadText(File(3)), before);
  Report(3, 1, 2, {{"val_accuracy", 0.625}, {"train_loss", 0.5}});
  (void)log->Follow(SampleTime(33));
  const std::string whole =
      before + ScalarsRecord(SampleTime(33), 2, {{"val_accuracy", 0.625}, {"train_loss", 0.5}});
  EXPECT_EQ(ReadText(File(3)), whole);

  Report(4, 1, 3, {{"train_loss", 0.25}});
  (void)log->Follow(SampleTime(35));
  Report(5, 1, 4, {{"val_accuracy", 0.75}});
  (void)log->Follow(SampleTime(36));
  EXPECT_EQ(ReadText(File(3)), whole + ScalarsRecord(SampleTime(34), 3, {{"train_loss", 0.25}}) +
                                   ScalarsRecord(SampleTime(35), 4, {{"val_accuracy", 0.75}}))
      << "the rest of iteration 3 will not come";
}

TEST_F(TensorboardLogTest, OfAPartThatALaterAttemptReportsAnewTheWholeIsWritten) {
  Report(2, 1, 2, {{"train_loss", 0.5}});
  const std::unique_ptr<TensorboardLog> log = Open();
  (void)log->Follow(SampleTime(32));
  EXPECT_EQ(log->Finish(), std::nullopt) << "the trial is not over";
  const std::string before = ReadText(File(3));
  Report(3, 2, 1, {{"val_accuracy", 0.5}});
  Report(4, 2, 2, {{"val_accuracy", 0.625}, {"train_loss", 0.5}});
  const std::string whole =
      before + ScalarsRecord(SampleTime(34), 2, {{"val_accuracy", 0.625}, {"train_loss", 0.5}});
  (void)log->Follow(SampleTime(35));
  EXPECT_EQ(ReadText(File(3)), whole);
  ASSERT_EQ(Export(folder_, "tensorboard", {folder_ / "out"}).exit_status, 0);
  EXPECT_EQ(ReadText(folder_ / ("out/3/" + EventFileName(kSampleStart))), whole);
}

TEST_F(TensorboardLogTest, ALaterLifeGoesOnWithoutWritingTwice) {
  Report(2, 2);
  (void)Open()->Follow(SampleTime(31));
  const std::string whole = ReadText(File(3));
  for (size_t size = 0; size <= whole.size(); size += 7) {
    fs::resize_file(File(3), size);
    EXPECT_EQ(Open()->Follow(SampleTime(32)), std::nullopt);
    ASSERT_EQ(ReadText(File(3)), whole) << "cut at " << size;
  }
}

TEST_F(TensorboardLogTest, ReportsOfOtherSweepsAreNotReadAgain) {
  const auto newest = [this] {
    const auto database = Database::Open(folder_ / "tune.db", Access::kRead);
    return *(*database)->QueryInt("SELECT max(rowid) FROM report_rows");
  };
  ExportedSweep later = sweep_;
  NewExperiment wanted = SampleExperiment("later");
  wanted.spec = ExportedSpec();
  later.id = store_->CreateExperiment(wanted)->id.value;
  later.name = "later";
  const auto log_of_later = *TensorboardLog::Open(folder_ / "tune.db", later, folder_ / "later");
  ASSERT_GT(newest(), 0);
  EXPECT_EQ(log_of_later->last_row(), newest()) << "all there are were there before it";

  const std::unique_ptr<TensorboardLog> log = Open();
  EXPECT_EQ(log->last_row(), 0) << "its own are the first";
  WriteExportedSweep(*store_, "other", ExportedSpec());
  (void)log->Follow(SampleTime(21));
  EXPECT_EQ(log->last_row(), newest()) << "those of the other sweep lie behind its own";
  Report(2, 2);
  const std::string before = ReadText(File(3));
  (void)log->Follow(SampleTime(31));
  EXPECT_NE(ReadText(File(3)), before);
  EXPECT_EQ(log->last_row(), newest());
  EXPECT_EQ(log_of_later->Follow(SampleTime(31)), std::nullopt);
  EXPECT_EQ(log_of_later->last_row(), newest());
  EXPECT_FALSE(fs::exists(folder_ / "later")) << "it has no reports";
}

TEST_F(TensorboardLogTest, WhatCannotBeWrittenIsSaidOnceAndCaughtUpWith) {
  WriteText(folder_ / "runs", "a file is in the way");
  const std::unique_ptr<TensorboardLog> log = Open();
  const std::optional<std::string> line = log->Follow(SampleTime(21));
  ASSERT_TRUE(line.has_value());
  EXPECT_THAT(*line, ::testing::StartsWith("warning: the event files wait, the sweep goes on: "));
  EXPECT_EQ(log->Follow(SampleTime(22)), std::nullopt);
  EXPECT_EQ(log->Follow(SampleTime(40)), std::nullopt) << "it still fails";
  fs::remove(folder_ / "runs");
  EXPECT_EQ(log->Follow(SampleTime(41)), std::nullopt) << "it waits before it tries again";
  EXPECT_FALSE(fs::exists(folder_ / "runs"));
  EXPECT_EQ(log->Follow(SampleTime(60)),
            "the event files in " + (folder_ / "runs") + " are whole again");
  const std::string caught_up = ReadText(File(0));
  fs::remove_all(folder_ / "runs");
  (void)Open()->Follow(SampleTime(61));
  EXPECT_EQ(caught_up, ReadText(File(0)));
}

}  // namespace
}  // namespace tune
