// The live view of a sweep that another process runs, read from its database.
#include "tuner/cli/look/stored_snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/cli/look/live_table.h"

namespace tune {
namespace {

class StoredSnapshotTest : public ::testing::Test {
 protected:
  StoredSnapshotTest() : store_(OpenStore(path())) { WriteSampleSweep(*store_, "sweep"); }

  std::string path() const { return folder_ / "tune.db"; }
  std::unique_ptr<Database> Open() {
    auto database = OpenForQueries(path());
    EXPECT_TRUE(database.ok()) << database.status().message();
    return *std::move(database);
  }
  FoundSweep Find(Database& database) {
    const auto sweep = FindSweep(database, "sweep");
    EXPECT_TRUE(sweep.ok());
    return *sweep;
  }
  // Trial 3 reports once more, then ends; the sweep does too.
  void EndSweep() {
    Transition rows;
    rows.trials = SampleRows().trials;
    TrialRow& last = rows.trials[3];
    last.status = TrialStatus::kTerminated;
    last.stop_reason = StopReason::kCompleted;
    last.iterations = 3;
    last.last_value = 0.875;
    last.best_value = 0.875;
    last.best_iteration = 3;
    last.finished_at = SampleTime(50);
    rows.experiment = ExperimentRow{ExperimentStatus::kFinished, 4, SampleTime(60)};
    const Status status = store_->Commit(ExperimentId{1}, {3, SampleTime(60), "[]"}, rows);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  TempFolder folder_{true};
  std::unique_ptr<SqliteStore> store_;
  StoredSnapshots snapshots_{SampleTime(0)};
};

TEST_F(StoredSnapshotTest, ShowsWhatTheTunersOwnTerminalWould) {
  const auto database = Open();
  const auto read = snapshots_.Read(*database, Find(*database), SampleTime(40));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(RenderTable(*read, {}, 200, 8, Palette::kPlain),
            (std::vector<std::string>{
                "sweep  3/4 trials ended, 1 running, 1 failed  40.0 s, 5 to 75 s left",
                "best    val_accuracy 0.75, trial 0 at iteration 2  "
                "lr=0.1 batch_size=32 optimizer/kind=adam augment=true",
                "rungs   1: 3 (≥ 0.5)  2: 1 (≥ 0.7)",
                "using   1 of 2.5 CPUs, 0 of 1 GPUs of 1 worker, 5 iterations",
                " trial iteration        last        best     running  worker",
                "     3         1         0.5         0.5      35.0 s  local"}));
}

// Only its own row is read.
TEST_F(StoredSnapshotTest, ASweepIsFoundByItsNameWithAllThatTheListHasOfIt) {
  WriteSampleSweep(*store_, "later");
  ASSERT_TRUE(store_->Label("sweep", {"the first", {{"team", "vision"}}, {}}).ok());
  ASSERT_TRUE(store_->Label("later", {"the second", {}, {}}).ok());
  const auto database = Open();
  const FoundSweep found = Find(*database);
  EXPECT_EQ(found.id, 1);
  EXPECT_EQ(found.labels.note, "the first");
  EXPECT_EQ(found.labels.tags, (Tags{{"team", "vision"}}));
  const auto latest = FindSweep(*database, "");
  ASSERT_TRUE(latest.ok()) << latest.status().message();
  EXPECT_EQ(latest->name, "later");
  EXPECT_EQ(latest->labels.note, "the second");
  const auto none = FindNamed(*database, "swep");
  EXPECT_TRUE(none.ok() && !none->has_value());
  const std::string unknown = FindSweep(*database, "swep").status().message();
  EXPECT_NE(unknown.find("did you mean 'sweep'?"), std::string::npos) << unknown;
}

TEST_F(StoredSnapshotTest, CountsAsTrainedAgainOnlyWhatALaterAttemptReportsAgain) {
  const auto again = [this] {
    const auto count = CountIterationsAgain(*Open(), 1);
    EXPECT_TRUE(count.ok());
    return count.ok() ? *count : -1;
  };
  const auto report = [](int64_t attempt, int64_t iteration) {
    return ReportRow{TrialNumber{3}, AttemptNumber{attempt}, iteration, 0.5, {}, SampleTime(50),
                     std::nullopt};
  };
  const int64_t before = again();
  Transition rows;
  rows.trials = {SampleRows().trials[3]};
  rows.trials[0].attempts = 3;
  rows.attempts = {SampleAttempt(3, 2, Outcome::kCrashed), SampleAttempt(3, 3, Outcome::kRunning)};
  // The third goes on by files of its own.
  rows.reports = {report(2, 5), report(3, 6)};
  ASSERT_TRUE(store_->Commit(ExperimentId{1}, {3, SampleTime(60), "[]"}, rows).ok());
  EXPECT_EQ(again(), before);
  Transition earlier;
  earlier.reports = {report(3, 4)};
  ASSERT_TRUE(store_->Commit(ExperimentId{1}, {4, SampleTime(61), "[]"}, earlier).ok());
  EXPECT_EQ(again(), before + 2);
}

TEST_F(StoredSnapshotTest, RecallsHowTheBestValueRoseAndTheCurvesOfTheTrialsThatRun) {
  const auto database = Open();
  const auto history = snapshots_.ReadHistory(*database, Find(*database));
  ASSERT_TRUE(history.ok()) << history.status().message();
  ASSERT_FALSE(history->best.empty());
  EXPECT_EQ(history->best.back().second, 0.75);
  for (size_t i = 1; i < history->best.size(); ++i) {
    EXPECT_GT(history->best[i].second, history->best[i - 1].second);
    EXPECT_GE(history->best[i].first.us, history->best[i - 1].first.us);
  }
  EXPECT_EQ(history->curves,
            (std::map<int64_t, std::vector<std::pair<int64_t, double>>>{{3, {{1, 0.5}}}}));
  SweepHistory seen;
  seen.Recall(*history);
  EXPECT_EQ(seen.Curve(3), (std::vector<double>{0.5}));
  EXPECT_EQ(seen.best(), history->best);
}

TEST_F(StoredSnapshotTest, TheBestValueSoFarLeavesOutWhatCameAgainAfterARetry) {
  Transition rows;
  rows.reports = {SampleReport(0, 3, 1, 0.9)};
  ASSERT_TRUE(store_->Commit(ExperimentId{1}, {3, SampleTime(60), "[]"}, rows).ok());
  const auto database = Open();
  const auto history = snapshots_.ReadHistory(*database, Find(*database));
  ASSERT_TRUE(history.ok()) << history.status().message();
  EXPECT_EQ(history->best.back().second, 0.75);
}

TEST_F(StoredSnapshotTest, TellsEachEndOnceAndNoneOfThoseBefore) {
  {
    const auto database = Open();
    const auto before = snapshots_.ReadEnded(*database, Find(*database));
    ASSERT_TRUE(before.ok()) << before.status().message();
    EXPECT_EQ(before->size(), 0u);
  }
  EndSweep();
  const auto database = Open();
  const auto ended = snapshots_.ReadEnded(*database, Find(*database));
  ASSERT_TRUE(ended.ok()) << ended.status().message();
  ASSERT_EQ(ended->size(), 1u);
  EXPECT_EQ(ended->front().number, 3);
  EXPECT_EQ(ended->front().reason, "completed");
  EXPECT_EQ(ended->front().iterations, 3);
  const auto again = snapshots_.ReadEnded(*database, Find(*database));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->size(), 0u);
}

TEST_F(StoredSnapshotTest, SumsUpAtTheEnd) {
  EndSweep();
  const auto database = Open();
  const auto summary = snapshots_.ReadSummary(*database, Find(*database), SampleTime(999));
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->status, "FINISHED");
  EXPECT_EQ(summary->trial_count, 4);
  EXPECT_EQ(summary->failed_count, 1);
  EXPECT_EQ(summary->early_count, 1);
  EXPECT_EQ(summary->iterations_trained, 7 + 1) << "trial 0 crashed after its first one";
  EXPECT_EQ(summary->iterations_full, 9);
  EXPECT_EQ(summary->elapsed, Seconds(60));  // To its end, whenever it is looked at.
  ASSERT_TRUE(summary->best.has_value());
  EXPECT_EQ(summary->best->number, 3);
}

// Each iteration that an attempt reported behind the place where the next one began.
TEST_F(StoredSnapshotTest, WhatWasTrainedAgainIsNoSaving) {
  EndSweep();
  const auto attempt = [](int64_t number, int64_t from_iteration) {
    AttemptRow row = SampleRows().attempts[0];
    row.trial = TrialNumber{1};
    row.number = AttemptNumber{number};
    row.from_iteration = from_iteration;
    return row;
  };
  const auto report = [](int64_t number, int64_t iteration) {
    ReportRow row;
    row.trial = TrialNumber{1};
    row.attempt = AttemptNumber{number};
    row.iteration = iteration;
    row.value = 0.5;
    row.reported_at = SampleTime(50);
    return row;
  };
  Transition rows;
  const auto sample = SampleRows().trials;
  rows.trials = {*std::find_if(sample.begin(), sample.end(),
                               [](const TrialRow& row) { return row.number.value == 1; })};
  rows.trials[0].attempts = 9;
  rows.attempts = {attempt(7, 0), attempt(8, 0), attempt(9, 2)};
  rows.reports = {report(7, 1), report(7, 2), report(8, 1),
                  report(8, 2), report(8, 3), report(9, 3)};
  ASSERT_TRUE(store_->Commit(ExperimentId{1}, {4, SampleTime(60), "[]"}, rows).ok());
  const auto database = Open();
  const auto summary = snapshots_.ReadSummary(*database, Find(*database), SampleTime(999));
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  const int64_t before = 2;  // Trial 0's first iteration, and trial 1's.
  EXPECT_EQ(summary->iterations_again, before + 2 + 1);
  EXPECT_EQ(summary->iterations_trained, 7 + before + 2 + 1);
  EXPECT_EQ(summary->iterations_full, 9);
}

// Trial 1 was stopped by the scheduler after one of three iterations; 2 by a person now, or it
// failed.
TEST_F(StoredSnapshotTest, WhatAPersonOrAFailureEndedIsNoSaving) {
  EndSweep();
  Transition rows;
  rows.trials = {SampleRows().trials[2]};
  rows.trials[0].status = TrialStatus::kTerminated;
  rows.trials[0].stop_reason = StopReason::kUser;
  ASSERT_TRUE(store_->Commit(ExperimentId{1}, {4, SampleTime(60), "[]"}, rows).ok());
  const auto database = Open();
  const auto summary = snapshots_.ReadSummary(*database, Find(*database), SampleTime(999));
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->iterations_trained, 7 + 1) << "trial 0 crashed after its first one";
  EXPECT_EQ(summary->iterations_full, 9);
}

}  // namespace
}  // namespace tune
