// What a commit is, through crashes and full disks. Real files throughout.
#include "tuner/sqlite/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/limits.h"
#include "tests/tuner/child_process.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/sqlite/schema.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Store, GivesBackWhatRecoveryNeeds) {
  const TempFolder folder;
  { WriteSampleSweep(*OpenStore(folder / "tune.db"), "s"); }
  const auto store = OpenStore(folder / "tune.db", Access::kWrite);
  const auto experiments = store->ListExperiments();
  ASSERT_TRUE(experiments.ok());
  ASSERT_EQ(experiments->size(), 1u);
  const StoredExperiment& experiment = experiments->at(0);
  EXPECT_EQ(experiment.id, ExperimentId{1});
  EXPECT_EQ(experiment.spec, SampleExperiment("s").spec);
  EXPECT_EQ(experiment.base_dir, "/sweeps");
  EXPECT_EQ(experiment.provenance, R"({"version":"0.1.0"})");
  EXPECT_EQ(experiment.decision_version, kDecisionVersion);
  EXPECT_EQ(experiment.created_at, kSampleStart);  // To the microsecond.
  EXPECT_EQ(experiment.status, ExperimentStatus::kRunning);

  const auto suggestions = store->ReadSuggestions(experiment.id);
  ASSERT_TRUE(suggestions.ok());
  ASSERT_EQ(suggestions->size(), 4u);
  for (int64_t number = 0; number < 4; ++number) {
    EXPECT_EQ(suggestions->at(size_t(number)).first, TrialNumber{number});
    EXPECT_EQ(suggestions->at(size_t(number)).second, SampleTrial(number).configuration);
  }
  const auto journal = store->ReadJournal(experiment.id);
  ASSERT_TRUE(journal.ok());
  ASSERT_EQ(journal->size(), 2u);
  EXPECT_EQ(journal->at(0).events, EncodeStream(SampleStream()));
  EXPECT_EQ(journal->at(1).step, 2);
  EXPECT_EQ(journal->at(1).at, SampleTime(21));
  const auto workers = store->ReadWorkers(experiment.id);
  ASSERT_TRUE(workers.ok()) << workers.status().message();
  ASSERT_EQ(workers->size(), 1u);
  EXPECT_EQ(workers->front().worker, WorkerId{1});
  EXPECT_EQ(workers->front().capacity, SampleRows().workers.front().capacity);
}

TEST(Store, ASecondSweepOfANameGetsANumber) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  EXPECT_EQ(store->CreateExperiment(SampleExperiment("food11"))->name, "food11");
  EXPECT_EQ(store->CreateExperiment(SampleExperiment("food11"))->name, "food11-2");
  EXPECT_EQ(store->CreateExperiment(SampleExperiment("food11"))->name, "food11-3");
  EXPECT_EQ(store->CreateExperiment(SampleExperiment("food11-2"))->name, "food11-2-2");
  EXPECT_TRUE(store->ReadWorkers(ExperimentId{2})->empty());
}

// A head has thousands. What another program writes is looked at page by page; what we write is
// not.
TEST(Store, ANewSweepCostsTheSameHoweverManyThereAre) {
  const auto bytes_read = [] {
    std::ifstream in("/proc/self/io");
    std::string name;
    int64_t bytes = 0;
    in >> name >> bytes;  // "rchar: 4711".
    return bytes;
  };
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  std::vector<int64_t> cost;
  for (int i = 0; i < 300; ++i) {
    const int64_t before = bytes_read();
    WriteSampleSweep(*store, "s");
    cost.push_back(bytes_read() - before);
  }
  EXPECT_LT(cost.back(), 2 * cost[20] + 50'000);
}

TEST(Store, LabelsAreWrittenBesideWhatIsCommitted) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const auto store = OpenStore(path);
  NewExperiment wanted = SampleExperiment("s");
  wanted.labels = {"at the start", {{"team", "vision"}}};
  const auto experiment = store->CreateExperiment(wanted);
  ASSERT_TRUE(experiment.ok());
  ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, {}).ok());
  LabelChange change;
  change.note = "it's \"better\"\nnow";
  change.tags = {{"phase", "2"}};
  EXPECT_EQ(store->Label("s", change)->tags, (Tags{{"phase", "2"}, {"team", "vision"}}));
  EXPECT_EQ(store->Label("other", change).status().code(), StatusCode::kNotFound);
  change = {};
  change.untag = {"nix"};
  EXPECT_EQ(store->Label("s", change).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(store->Commit(experiment->id, {2, kSampleStart, "[]"}, {}).ok());
  EXPECT_THAT(Query(path, "SELECT note, tags FROM experiments"),
              ElementsAre("it's \"better\"\nnow|{\"phase\":\"2\",\"team\":\"vision\"}"));
}

// Somebody restores a backup while a page is open: what was in the WAL must not spoil it.
TEST(Store, LeavesAnEmptyWalAlsoBesideAReader) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  std::filesystem::copy_file(path, folder / "backup.db");
  const auto reader = Database::Open(path, Access::kRead);
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE((*reader)->QueryInt("SELECT count() FROM trials").ok());
  LabelChange change;
  change.note = "later";
  ASSERT_TRUE(OpenStore(path, Access::kWrite)->Label("s", change).ok());
  EXPECT_EQ(std::filesystem::file_size(path + "-wal"), 0u);
  std::filesystem::rename(folder / "backup.db", path);
  EXPECT_THAT(Query(path, "SELECT name, note FROM experiments"), ElementsAre("s|"));
}

TEST(Store, AnAttemptNamesWhatItHeldOfEachDevice) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const auto store = OpenStore(path);
  WriteSampleSweep(*store, "a");
  const StoredExperiment second = WriteSampleSweep(*store, "b");
  Transition rows;
  rows.attempts = {SampleRows().attempts.back()};
  rows.attempts[0].number = AttemptNumber{9};
  rows.attempts[0].devices = {{WorkerId{1}, {0, 500, 0}}, {WorkerId{1}, {1, 1000, 0}}};
  ASSERT_TRUE(store->Commit(second.id, {3, kSampleStart, "[]"}, rows).ok());
  // By the row of the worker, of which each sweep has its own.
  EXPECT_THAT(
      Query(path, "SELECT devices FROM attempts WHERE devices IS NOT NULL"),
      ElementsAre(R"([{"worker":2,"device":0,"gpu":0.5},{"worker":2,"device":1,"gpu":1.0}])"));
}

TEST(Store, SweepsOfOneDatabaseKeepTheirTrialsAndJournalsApart) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    const StoredExperiment first = WriteSampleSweep(*store, "a");
    const StoredExperiment second = WriteSampleSweep(*store, "b");
    // Going back to the first: its own numbers and steps.
    Transition rows = OneReport(3);
    rows.new_trials = {SampleTrial(4)};
    ASSERT_TRUE(store->Commit(first.id, {3, kSampleStart, "[]"}, rows).ok());
    EXPECT_EQ(store->ReadJournal(first.id)->size(), 3u);
    EXPECT_EQ(store->ReadJournal(second.id)->size(), 2u);
    EXPECT_EQ(store->ReadSuggestions(first.id)->size(), 5u);
  }
  EXPECT_THAT(Query(path, "SELECT trial, attempt, iteration FROM reports WHERE iteration = 3"),
              ElementsAre("1|1|3"));
  EXPECT_THAT(
      Query(path,
            "SELECT e.name, count(t.id), min(w.id) FROM experiments AS e JOIN trials AS t"
            " ON t.experiment = e.id JOIN workers AS w ON w.experiment = e.id GROUP BY e.id"),
      ElementsAre("a|5|1", "b|4|2"));
}

TEST(Store, TakesOnlyTheStepAfterTheLast) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  const StoredExperiment experiment = WriteSampleSweep(*store, "s");
  for (const int64_t step : {0, 1, 2, 4, 100}) {
    const Status status = store->Commit(experiment.id, {step, kSampleStart, "[]"}, OneReport(9));
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << step;
    EXPECT_THAT(status.message(), HasSubstr("step " + std::to_string(step)));
  }
  EXPECT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, OneReport(9)).ok());
}

TEST(Store, AFailedCommitLeavesNothingAndTheStoreGoesOn) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  const StoredExperiment experiment = WriteSampleSweep(*store, "s");
  Transition rows;
  rows.new_trials = {SampleTrial(4)};
  rows.reports = {SampleReport(4, 1, 1, 0.5), SampleReport(5, 1, 1, 0.6)};  // There is no trial 5.
  EXPECT_FALSE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  EXPECT_EQ(store->ReadSuggestions(experiment.id)->size(), 4u);
  EXPECT_EQ(store->ReadJournal(experiment.id)->size(), 2u);

  rows.reports.pop_back();
  EXPECT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  EXPECT_EQ(store->ReadSuggestions(experiment.id)->size(), 5u);
}

TEST(Store, AnIterationThatIsReportedInPartsIsOneRowWithItsLastPart) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  const StoredExperiment experiment = WriteSampleSweep(*store, "s");
  Transition rows;
  ReportRow part = SampleReport(3, 1, 2, 0.5);
  part.value.reset();
  part.metrics = {{"val_loss", 0.25}};
  rows.reports = {part};
  ASSERT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  rows.reports = {SampleReport(3, 1, 2, 0.75)};
  rows.reports[0].decision = Decision();
  ASSERT_TRUE(store->Commit(experiment.id, {4, kSampleStart, "[]"}, rows).ok());
  EXPECT_THAT(Query(folder / "tune.db",
                    "SELECT value, metrics FROM reports JOIN trials AS t ON t.id = trial"
                    " WHERE number = 3 AND iteration = 2"),
              testing::ElementsAre(R"(0.75|{"val_accuracy":0.75,"val_loss":0.25})"));
}

TEST(Store, AReleasedSweepCostsNoMemoryAndMayBeCommittedToAllTheSame) {
  const TempFolder folder(/*in_memory=*/true);
  const auto store = OpenStore(folder / "tune.db");
  const StoredExperiment first = WriteSampleSweep(*store, "a");
  const StoredExperiment second = WriteSampleSweep(*store, "b");
  EXPECT_EQ(store->known_count(), 2u);
  store->Release(first.id);
  EXPECT_EQ(store->known_count(), 1u);
  Transition rows = OneReport(3);
  rows.workers = SampleRows().workers;
  const Status status = store->Commit(first.id, {3, kSampleStart, "[]"}, rows);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(store->ReadJournal(first.id)->size(), 3u);
  EXPECT_EQ(store->ReadWorkers(first.id)->size(), 1u) << "its row was there";
  EXPECT_EQ(store->ReadJournal(second.id)->size(), 2u);
}

TEST(Store, AWorkerMayHaveAnyNumber) {
  const TempFolder folder(/*in_memory=*/true);
  const auto store = OpenStore(folder / "tune.db");
  const StoredExperiment experiment = WriteSampleSweep(*store, "s");
  WorkerRow row = SampleRows().workers.front();
  row.worker = WorkerId{int64_t{1} << 40};  // As a head has them that has run for long.
  Transition rows;
  rows.workers = {row};
  AttemptRow attempt = SampleAttempt(3, 2, Outcome::kRunning);
  attempt.worker = row.worker;
  rows.attempts = {attempt};
  const Status status = store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(store->ReadWorkers(experiment.id)->back().worker, row.worker);
  EXPECT_EQ(*store->LastWorker(), row.worker);
}

// `samples: -1` sets no limit.
TEST(Store, ASweepWithoutAnEndMayHaveMoreTrialsThanSamplesCanSay) {
  const TempFolder folder(/*in_memory=*/true);
  const auto store = OpenStore(folder / "tune.db");
  const StoredExperiment experiment = WriteSampleSweep(*store, "s");
  constexpr int64_t kTrial = 2 * limits::kGridPointsMax;
  Transition rows;
  rows.new_trials = {SampleTrial(kTrial)};
  rows.reports = {SampleReport(kTrial, 1, 1, 0.5)};
  const Status status = store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(store->ReadSuggestions(experiment.id)->back().first, TrialNumber{kTrial});
}

TEST(Store, RowsOfTrialsNobodyCreatedAreRefused) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  const auto experiment = store->CreateExperiment(SampleExperiment("s"));
  EXPECT_EQ(store->Commit(experiment->id, {1, kSampleStart, "[]"}, OneReport(1)).code(),
            StatusCode::kInternal);
  EXPECT_EQ(store->Commit(ExperimentId{9}, {1, kSampleStart, "[]"}, {}).code(),
            StatusCode::kNotFound);
}

TEST(Store, ChangesOfTheExperimentAndOfRowsReplaceTheOldOnes) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    const StoredExperiment experiment = WriteSampleSweep(*store, "s");
    Transition rows;
    rows.experiment = ExperimentRow{ExperimentStatus::kFinished, 8, SampleTime(60)};
    rows.attempts = {SampleAttempt(3, 1, Outcome::kCompleted)};
    rows.workers = SampleRows().workers;
    rows.workers[0].state = WorkerState::kLeft;
    rows.checkpoints = {SampleRows().checkpoints[1]};
    rows.checkpoints[0].state = CheckpointState::kCorrupt;
    ASSERT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  }
  EXPECT_THAT(Query(path, "SELECT status, samples, finished_at FROM experiments"),
              ElementsAre("FINISHED|8|2026-11-21T09:31:00.125Z"));
  EXPECT_THAT(Query(path, "SELECT outcome FROM attempts WHERE trial = 4"),
              ElementsAre("completed"));
  EXPECT_THAT(Query(path, "SELECT state FROM workers"), ElementsAre("left"));
  EXPECT_THAT(Query(path, "SELECT state FROM checkpoints ORDER BY iteration"),
              ElementsAre("removed", "corrupt"));
}

TEST(Store, DeletingAnExperimentDeletesAllThatHangsOnItAndNothingElse) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    WriteSampleSweep(*store, "a");
    WriteSampleSweep(*store, "b");
  }
  {
    const auto database = Database::Open(path, Access::kWrite);
    ASSERT_TRUE((*database)->Run("DELETE FROM experiment_rows WHERE name = ?1", "a").ok());
  }
  for (const char* table : {"trial_rows", "configuration_rows", "report_rows", "attempt_rows",
                            "checkpoint_rows", "worker_rows", "journal_rows"}) {
    const size_t row_count = Query(path, std::string("SELECT 1 FROM ") + table).size();
    EXPECT_GT(row_count, 0u) << table;
  }
  EXPECT_THAT(Query(path, "SELECT count() FROM trials"), ElementsAre("4"));
  EXPECT_THAT(Query(path, "SELECT min(trial), count() FROM reports"), ElementsAre("5|6"));
  EXPECT_THAT(Query(path, "SELECT id >> 40, id & 255 FROM journal_rows"),
              ElementsAre("2|1", "2|2"));
}

// What every later decision builds on.
TEST(Store, AConfigurationThatIsNotWhatWasWrittenIsRefused) {
  const TempFolder folder(/*in_memory=*/true);
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    WriteSampleSweep(*store, "a");
  }
  const auto told = [&]() -> std::string {
    const auto store = OpenStore(path);
    const auto experiments = store->ListExperiments();
    return store->ReadSuggestions(experiments->front().id).status().message();
  };
  const auto change = [&](const char* sql) {
    const auto database = Database::Open(path, Access::kWrite);
    ASSERT_TRUE((*database)->Run(sql).ok()) << sql;
  };
  EXPECT_EQ(told(), "");
  change("UPDATE configuration_rows SET flat = replace(flat, '0.', '1.') WHERE trial = 1");
  EXPECT_EQ(told(), path +
                        ": the configuration of trial 0: it is not what was written: its flat "
                        "and its nested form differ; go on from a backup");
  change("DELETE FROM configuration_rows WHERE trial = 1");
  EXPECT_EQ(told(), path + ": the configuration of trial 0 is missing; go on from a backup");
}

TEST(Store, AWorkerIsReadBackWithAllThatItsNextLifeNeeds) {
  const TempFolder folder(/*in_memory=*/true);
  const auto store = OpenStore(folder / "tune.db");
  const StoredExperiment experiment = WriteSampleSweep(*store, "s");
  WorkerRow row = SampleRows().workers.front();
  row.worker = WorkerId{2};
  row.capacity.devices = {{1, "H200", 1 << 30, "GPU-1b2c"}, {3, "a \"quoted\" one", 0}};
  row.state = WorkerState::kDraining;
  row.is_local = false;
  row.session = "9f3c";
  row.has_reported = true;
  row.failed_starts = 4;
  row.is_shunning_said = true;
  Transition rows;
  rows.workers = {row};
  ASSERT_TRUE(store->Commit(experiment.id, {3, SampleTime(30), "[]"}, rows).ok());
  const auto workers = store->ReadWorkers(experiment.id);
  ASSERT_TRUE(workers.ok()) << workers.status().message();
  ASSERT_EQ(workers->size(), 2u);
  const WorkerRow& read = workers->back();
  EXPECT_EQ(read.capacity, row.capacity);
  EXPECT_EQ(read.state, row.state);
  EXPECT_EQ(read.is_local, row.is_local);
  EXPECT_EQ(read.session, row.session);
  EXPECT_EQ(read.has_reported, row.has_reported);
  EXPECT_EQ(read.failed_starts, row.failed_starts);
  EXPECT_EQ(read.is_shunning_said, row.is_shunning_said);
}

TEST(Store, ADatabaseWhoseVersionWasChangedIsRefused) {
  const TempFolder folder(/*in_memory=*/true);
  const std::string path = folder / "tune.db";
  OpenStore(path).reset();
  for (const std::string version : {"0", "-3", "-2147483648"}) {
    {
      const auto database = Database::Open(path, Access::kWrite);
      ASSERT_TRUE((*database)->Execute(("PRAGMA user_version = " + version).c_str()).ok());
    }
    for (const Access access : {Access::kWrite, Access::kCreate}) {
      EXPECT_EQ(SqliteStore::Open(path, access, kSampleStart).status().message(),
                path + ": its header was changed (user_version is " + version + ", expected 1 to " +
                    std::to_string(SchemaVersion()) + "); go on from a backup");
    }
  }
}

TEST(Store, GrowsByLessThan300BytesAReport) {
  const TempFolder folder(/*in_memory=*/true);
  const std::string path = folder / "tune.db";
  constexpr int64_t kReportCount = 20'000;
  constexpr int64_t kTrialCount = 100;
  std::filesystem::path file(path);
  {
    const auto store = OpenStore(path);
    const auto experiment = store->CreateExperiment(SampleExperiment("s"));
    Transition rows;
    for (int64_t number = 0; number < kTrialCount; ++number)
      rows.new_trials.push_back(SampleTrial(number));
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  const auto size_before = static_cast<double>(std::filesystem::file_size(file));
  {
    const auto store = OpenStore(path);
    for (int64_t i = 0; i < kReportCount; ++i) {  // A commit each: the journal at its dearest.
      const int64_t trial = i % kTrialCount;
      const int64_t iteration = i / kTrialCount + 1;
      const double value = 1.0 / (3.0 + static_cast<double>(i));
      ReportArrived event;
      event.worker = WorkerId{1};
      event.message.ref = {TrialNumber{trial}, AttemptNumber{1}, LeaseEpoch{trial + 1}};
      event.message.sequence = iteration;
      event.message.report.iteration = iteration;
      event.message.report.metrics = {{"val_accuracy", value}};
      Transition rows;
      rows.reports = {SampleReport(trial, 1, iteration, value)};
      rows.reports[0].metrics = event.message.report.metrics;
      rows.reports[0].decision = SampleDecision(Verdict::kContinue, iteration, value, 3, 57);
      rows.trials = {SampleTrial(trial).trial};
      rows.trials[0].status = TrialStatus::kRunning;
      rows.trials[0].last_value = value;
      rows.trials[0].best_value = value;
      ASSERT_TRUE(
          store->Commit(ExperimentId{1}, {i + 2, SampleTime(i), EncodeEvents({event})}, rows).ok());
    }
  }
  EXPECT_THAT(folder.List(), ElementsAre("tune.db"));  // All of it is in the one file.
  const double grown = static_cast<double>(std::filesystem::file_size(file)) - size_before;
  RecordProperty("bytes_a_report", std::to_string(grown / kReportCount));
  EXPECT_LT(grown / kReportCount, 300);
  EXPECT_GT(grown / kReportCount, 50);
}

TEST(LaneSpeeds, AreKeptByTheirLatestMeasureAndGoWithTheirSweep) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const LaneKind kind = {R"({"batch_size":32})", "NVIDIA H200"};
  {
    const auto store = OpenStore(path);
    const StoredExperiment experiment = WriteSampleSweep(*store, "s");
    Transition rows;
    rows.lane_speeds = {{kind, {8, 2400, 3}}, {kind, {4, 2000, 3}}, {{"{}", ""}, {8, 100, 4}}};
    ASSERT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
    rows.lane_speeds = {{kind, {8, 2310.5, 9}}};
    ASSERT_TRUE(store->Commit(experiment.id, {4, kSampleStart, "[]"}, rows).ok());
  }
  constexpr char kAllSql[] =
      "SELECT experiment, shape, device, lanes, images_per_second, reports FROM lane_speeds"
      " ORDER BY shape, lanes";
  EXPECT_THAT(Query(path, kAllSql),
              ElementsAre("1|{\"batch_size\":32}|NVIDIA H200|4|2000.0|3",
                          "1|{\"batch_size\":32}|NVIDIA H200|8|2310.5|9", "1|{}||8|100.0|4"));
  const auto database = Database::Open(path, Access::kWrite);
  ASSERT_TRUE((*database)->Execute("DELETE FROM experiment_rows WHERE id = 1").ok());
  EXPECT_THAT(Query(path, kAllSql), IsEmpty());
}

// ---- crashes and a full disk

TEST(Store, WhatWasAcknowledgedSurvivesKill9) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  { WriteSampleSweep(*OpenStore(path), "s"); }
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto store = OpenStore(path, Access::kWrite);
    for (int64_t step = 3;; ++step) {
      if (!store->Commit(ExperimentId{1}, {step, kSampleStart, "[]"}, OneReport(step)).ok())
        _exit(1);
      (void)!write(ends[1], &step, sizeof step);
    }
  }
  close(ends[1]);
  int64_t acknowledged = 0;
  for (int count = 0; count < 50; ++count) {
    ASSERT_EQ(read(ends[0], &acknowledged, sizeof acknowledged), ssize_t{sizeof acknowledged});
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (int64_t step; read(ends[0], &step, sizeof step) == ssize_t{sizeof step};)
    acknowledged = step;
  close(ends[0]);

  // A reader sees all of it although nobody closed anything; so does the next tuner.
  EXPECT_GE(std::stoll(Query(path, "SELECT max(iteration) FROM reports").at(0)), acknowledged);
  const auto store = OpenStore(path, Access::kWrite);
  ASSERT_NE(store, nullptr);
  const auto journal = store->ReadJournal(ExperimentId{1});
  ASSERT_TRUE(journal.ok());
  ASSERT_GE(static_cast<int64_t>(journal->size()), acknowledged);
  ASSERT_LE(static_cast<int64_t>(journal->size()),
            acknowledged + 1);  // One may have been told too late.
  // Journal and rows are one: as many of the one as of the other.
  EXPECT_THAT(
      Query(path, "SELECT count() FROM reports WHERE trial = 1 AND attempt = 1 AND iteration > 2"),
      ElementsAre(std::to_string(journal->size() - 2)));
  EXPECT_THAT(Query(path, "SELECT integrity_check FROM pragma_integrity_check"), ElementsAre("ok"));
}

// Commits until one fails, which must say so; then `make_room`, and the same step again.
std::string FillDisk(const std::string& path, StatusCode expected,
                     const std::function<void()>& make_room) {
  const auto opened = SqliteStore::Open(path, Access::kCreate, kSampleStart);
  if (!opened.ok()) return opened.status().message();
  const StoredExperiment experiment = WriteSampleSweep(**opened, "s");
  for (int64_t step = 3; step < 100'000; ++step) {
    Transition rows = OneReport(step);
    rows.reports[0].metrics.emplace_back(std::string(2000, 'm'), 1.0);
    Status status = (*opened)->Commit(experiment.id, {step, kSampleStart, "[]"}, rows);
    if (status.ok()) continue;
    if (status.code() != expected) return "wrong code: " + status.message();
    make_room();
    const auto journal = (*opened)->ReadJournal(experiment.id);
    if (!journal.ok() || static_cast<int64_t>(journal->size()) != step - 1)
      return "steps were lost";
    if (const Status again = (*opened)->Commit(experiment.id, {step, kSampleStart, "[]"}, rows);
        !again.ok()) {
      return "no recovery: " + again.message();
    }
    return status.message();
  }
  return "it never failed";
}

TEST(Store, AFullFileSystemIsToldAndLosesNothing) {
  const TempFolder folder;
  const std::string answer = InChild([&]() -> std::string {
    if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      return "cannot mount";
    }
    const std::string ballast = folder / "ballast";
    WriteText(ballast, std::string(100'000, 'x'));
    return FillDisk(folder / "tune.db", StatusCode::kResourceExhausted,
                    [&] { unlink(ballast.c_str()); });
  });
  if (answer == "cannot mount") GTEST_SKIP() << "no mount namespaces here";
  EXPECT_THAT(answer, AllOf(HasSubstr("tune.db"), HasSubstr("full"), HasSubstr("free some space")));
}

TEST(Store, AFileSizeLimitIsToldAndLosesNothing) {
  const TempFolder folder;
  const std::string answer = InChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {};
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 400'000;
    setrlimit(RLIMIT_FSIZE, &limit);
    return FillDisk(folder / "tune.db", StatusCode::kInternal, [&] {
      limit.rlim_cur = before;
      setrlimit(RLIMIT_FSIZE, &limit);
    });
  });
  EXPECT_THAT(answer, AllOf(HasSubstr("tune.db"), HasSubstr("tune resume")));
}

}  // namespace
}  // namespace tune
