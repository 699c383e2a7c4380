// The database: what is promised of its views, of what a commit is, and of files that are not ours.
// Real files throughout.
#include "tuner/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/sqlite/schema.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Runs a body in a child process and gives what it returns; "" when it dies. For what one process
// cannot undo: user ids, limits, mounts.
std::string InChild(const std::function<std::string()>& body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const std::string answer = body();
    (void)!write(ends[1], answer.data(), answer.size());
    _exit(0);
  }
  close(ends[1]);
  std::string answer;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) answer.append(buffer, size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return answer;
}

// As a user for whom permissions count.
void BecomeNobody() {
  if (geteuid() != 0) return;
  if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
}

Status OpenError(const std::string& path, Access access) {
  if (access == Access::kRead) return Database::Open(path, access).status();
  return SqliteStore::Open(path, access, kSampleStart).status();
}

std::string JoinedColumns(const std::string& path, const std::string& view) {
  std::string joined;
  for (const std::string& name :
       Query(path, "SELECT name FROM pragma_table_info('" + view + "') ORDER BY cid")) {
    joined += (joined.empty() ? "" : ", ") + name;
  }
  return joined;
}

Transition OneReport(int64_t iteration) {
  Transition rows;
  rows.reports = {SampleReport(0, 1, iteration, 0.5)};
  return rows;
}

// ---- the views

TEST(Views, HaveTheColumnsThatScriptsRelyOn) {
  const TempFolder folder;
  WriteSampleSweep(*OpenStore(folder / "tune.db"), "s");
  const auto begins = [&](const char* view, const std::string& columns) {
    EXPECT_EQ(JoinedColumns(folder / "tune.db", view).substr(0, columns.size()), columns) << view;
  };
  begins("experiments",
         "id, name, metric, mode, status, seed, samples, spec, created_at, finished_at");
  begins("trials",
         "id, experiment, number, status, stop_reason, config, iterations, last_value, best_value,"
         " best_iteration, attempts, created_at, started_at, finished_at, run_seconds");
  begins("params", "trial, name, value");
  begins("reports", "trial, attempt, iteration, value, metrics, reported_at");
  begins("decisions", "trial, iteration, decision, scheduler, rung, cutoff, rank, count");
  begins("attempts",
         "trial, number, worker, outcome, error, from_iteration, started_at, finished_at");
  begins("checkpoints", "trial, iteration, path, bytes, checksum, state");
  begins("workers", "id, address, cpus, gpus, state, joined_at, last_seen_at");
}

TEST(Views, ShowASweepAsItWasWritten) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  EXPECT_THAT(
      Query(path,
            "SELECT id, name, metric, mode, status, seed, samples, json_extract(spec, '$.name'),"
            " created_at, finished_at FROM experiments"),
      ElementsAre("1|s|val_accuracy|max|RUNNING|7|4|s|2026-11-21T09:30:00.125Z|-"));
  EXPECT_THAT(
      Query(path,
            "SELECT id, experiment, number, status, stop_reason, iterations, last_value,"
            " best_value, best_iteration, attempts, run_seconds FROM trials ORDER BY number"),
      ElementsAre("1|1|0|TERMINATED|max_t|2|0.75|0.75|2|2|15.0",
                  "2|1|1|TERMINATED|scheduler|1|0.25|0.25|1|1|15.0", "3|1|2|ERROR|-|1|-|-|-|1|15.0",
                  "4|1|3|RUNNING|-|1|0.5|0.5|1|1|15.0"));
  EXPECT_THAT(
      Query(path,
            "SELECT config, created_at, started_at, finished_at FROM trials WHERE number = 0"),
      ElementsAre(R"({"lr":0.1,"batch_size":32,"optimizer":{"kind":"adam"},"augment":true}|)"
                  "2026-11-21T09:30:00.125Z|2026-11-21T09:30:05.125Z|2026-11-21T09:30:20.125Z"));
  EXPECT_THAT(Query(path, "SELECT trial, name, value, typeof(value) FROM params WHERE trial = 2"),
              ElementsAre("2|lr|0.2|real", "2|batch_size|64|integer",
                          "2|optimizer/kind|sgd, \"plain\"|text", "2|augment|1|integer"));
  EXPECT_THAT(
      Query(path,
            "SELECT trial, attempt, iteration, value, metrics, reported_at FROM reports WHERE "
            "trial = 1"
            " ORDER BY attempt, iteration"),
      ElementsAre(R"(1|1|1|0.5|{"val_accuracy":0.5,"val_loss":0.5}|2026-11-21T09:30:11.125Z)",
                  R"(1|2|1|0.5|{"val_accuracy":0.5,"val_loss":0.5}|2026-11-21T09:30:11.125Z)",
                  R"(1|2|2|0.75|{"val_accuracy":0.75,"val_loss":0.25,"test_accuracy":0.7}|)"
                  "2026-11-21T09:30:12.125Z"));
  EXPECT_THAT(
      Query(path,
            "SELECT trial, iteration, decision, scheduler, rung, cutoff, rank, count FROM decisions"
            " ORDER BY trial, iteration"),
      ElementsAre("1|1|continue|asha|1|0.4|1|1", "1|2|stop|asha|2|0.7|1|1",
                  "2|1|stop|asha|1|0.375|2|2", "3|1|continue|asha|-|-|-|-",
                  "4|1|continue|asha|1|0.5|1|3"));
  EXPECT_THAT(
      Query(path,
            "SELECT trial, number, worker, outcome, error, from_iteration, started_at, finished_at"
            " FROM attempts WHERE trial IN (1, 4) ORDER BY trial, number"),
      ElementsAre("1|1|1|crashed|it fell over|0|2026-11-21T09:30:05.125Z|2026-11-21T09:30:20.125Z",
                  "1|2|1|stopped|-|0|2026-11-21T09:30:05.125Z|2026-11-21T09:30:20.125Z",
                  "4|1|1|running|-|0|2026-11-21T09:30:05.125Z|-"));
  EXPECT_THAT(Query(path,
                    "SELECT trial, iteration, path, bytes, checksum, state FROM checkpoints ORDER "
                    "BY iteration"),
              ElementsAre("1|1|/a/s/0/checkpoint_1|100|00ff|removed",
                          "1|2|/a/s/0/checkpoint_2|100|00fe|durable"));
  EXPECT_THAT(
      Query(path, "SELECT id, address, cpus, gpus, state, joined_at, last_seen_at FROM workers"),
      ElementsAre(
          "1|127.0.0.1:4000|2.5|1|alive|2026-11-21T09:30:01.125Z|2026-11-21T09:30:30.125Z"));
}

TEST(Views, AnswerTheQueryOfTheReadme) {
  const TempFolder folder;
  WriteSampleSweep(*OpenStore(folder / "tune.db"), "s");
  EXPECT_THAT(Query(folder / "tune.db",
                    "select number, status, stop_reason, iterations, best_value from trials order "
                    "by best_value desc"),
              ElementsAre("0|TERMINATED|max_t|2|0.75", "3|RUNNING|-|1|0.5",
                          "1|TERMINATED|scheduler|1|0.25", "2|ERROR|-|1|-"));
}

TEST(Views, AValueThatIsNotFiniteIsNullAndItsMetricsAreKept) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    const StoredExperiment experiment = WriteSampleSweep(*store, "s");
    Transition rows;
    rows.reports = {SampleReport(1, 1, 2, std::numeric_limits<double>::infinity())};
    ASSERT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  }
  EXPECT_THAT(
      Query(path,
            "SELECT value, metrics FROM reports WHERE trial IN (2, 3) ORDER BY trial, iteration"),
      ElementsAre(R"(0.25|{"val_accuracy":0.25,"val_loss":0.75})",
                  R"(-|{"val_accuracy":"Infinity","val_loss":"-Infinity"})",
                  R"(-|{"val_accuracy":"NaN","val_loss":"NaN"})"));
}

TEST(Views, ASeedOfAllBitsIsShownAsItWasGiven) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  NewExperiment experiment = SampleExperiment("s");
  experiment.seed = std::numeric_limits<uint64_t>::max();
  {
    const auto store = OpenStore(path);
    ASSERT_TRUE(store->CreateExperiment(experiment).ok());
    EXPECT_EQ(store->ListExperiments()->at(0).seed, experiment.seed);
  }
  EXPECT_THAT(Query(path, "SELECT seed FROM experiments"), ElementsAre("18446744073709551615"));
}

TEST(Views, OddNamesAreOnlyText) {
  const TempFolder folder;
  const std::string path = folder / "t'; DROP TABLE x; -- ?#%41.db";
  const std::string odd = "Robert'); DROP TABLE trial_rows;-- \"\\ \xc3\xa9";
  {
    const auto store = OpenStore(path);
    NewExperiment experiment = SampleExperiment(odd);
    experiment.spec = R"({"scheduler":"fifo"})";
    const auto stored = store->CreateExperiment(experiment);
    ASSERT_TRUE(stored.ok()) << stored.status().message();
    Transition rows;
    NewTrialRow trial = SampleTrial(0);
    trial.configuration.Set("it's \"a\" [name]", odd);
    rows.new_trials = {trial};
    rows.reports = {SampleReport(0, 1, 1, 0.5)};
    rows.reports[0].metrics.emplace_back(odd, 1.0);
    ASSERT_TRUE(store->Commit(stored->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  EXPECT_THAT(folder.List(), ElementsAre("t'; DROP TABLE x; -- ?#%41.db"));
  EXPECT_THAT(Query(path, "SELECT name FROM experiments"), ElementsAre(odd));
  EXPECT_THAT(Query(path, "SELECT value FROM params WHERE name = 'it''s \"a\" [name]'"),
              ElementsAre(odd));
  EXPECT_THAT(Query(path, "SELECT k.key FROM reports, json_each(metrics) AS k WHERE k.value = 1.0"),
              ElementsAre(odd));
}

// ---- the store

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
  EXPECT_EQ(journal->at(0).events, EncodeEvents(SampleEvents()));
  EXPECT_EQ(journal->at(1).step, 2);
  EXPECT_EQ(journal->at(1).at, SampleTime(21));
  EXPECT_EQ(*store->LastWorker(experiment.id), WorkerId{1});
}

TEST(Store, ASecondSweepOfANameGetsANumber) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  EXPECT_EQ(store->CreateExperiment(SampleExperiment("food11"))->name, "food11");
  EXPECT_EQ(store->CreateExperiment(SampleExperiment("food11"))->name, "food11-2");
  EXPECT_EQ(store->CreateExperiment(SampleExperiment("food11"))->name, "food11-3");
  EXPECT_EQ(store->CreateExperiment(SampleExperiment("food11-2"))->name, "food11-2-2");
  EXPECT_EQ(*store->LastWorker(ExperimentId{2}), WorkerId{0});
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
  rows.reports = {SampleReport(4, 1, 1, 0.5),
                  SampleReport(4, 1, 1, 0.6)};  // The same iteration twice.
  EXPECT_FALSE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  EXPECT_EQ(store->ReadSuggestions(experiment.id)->size(), 4u);
  EXPECT_EQ(store->ReadJournal(experiment.id)->size(), 2u);

  rows.reports.pop_back();
  EXPECT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  EXPECT_EQ(store->ReadSuggestions(experiment.id)->size(), 5u);
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

// ---- crashes and company

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

TEST(Store, ASecondTunerIsRefusedAndToldWhoHoldsTheDatabase) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  auto store = OpenStore(path);
  const Status status = OpenError(path, Access::kCreate);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(path), HasSubstr("pid " + std::to_string(getpid())),
                                      HasSubstr("since 2026-11-21T09:30:00.125Z")));
  WriteSampleSweep(*store, "food11");
  ASSERT_TRUE(FindLockHolder(path).has_value());
  EXPECT_EQ(FindLockHolder(path)->experiment, "food11");
  EXPECT_EQ(FindLockHolder(path)->pid, getpid());
  store.reset();
  EXPECT_FALSE(FindLockHolder(path).has_value());
  EXPECT_TRUE(OpenError(path, Access::kCreate).ok());
}

TEST(WriterLock, OfADeadTunerIsFree) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = AcquireWriterLock(path, kSampleStart);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(folder.List(), ElementsAre("tune.db.lock"));  // It is still there ...
  EXPECT_FALSE(FindLockHolder(path).has_value());           // ... and means nothing.
  {
    const auto lock = AcquireWriterLock(path, kSampleStart);
    ASSERT_TRUE(lock.ok()) << lock.status().message();
    EXPECT_EQ(FindLockHolder(path)->pid, getpid());
  }
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST(WriterLock, OnlyOneOfManyGetsIt) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  // Each child takes and gives back the lock many times; two at once would see the other's mark.
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    for (int got = 0; got < 200;) {
      const auto lock = AcquireWriterLock(path, kSampleStart);
      if (!lock.ok()) continue;
      const int mark = open((path + ".mark").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
      if (mark < 0) _exit(1);
      close(mark);
      unlink((path + ".mark").c_str());
      ++got;
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(Reader, SeesTheLastCommitWhileAWriterIsInATransaction) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const auto store = OpenStore(path);
  WriteSampleSweep(*store, "s");
  const auto writer = Database::Open(path, Access::kWrite);
  ASSERT_TRUE(writer.ok());
  auto transaction = Transaction::Begin(**writer);
  ASSERT_TRUE(transaction.ok());
  ASSERT_TRUE((*writer)->Run("UPDATE experiment_rows SET name = ?1", "changed").ok());
  EXPECT_THAT(Query(path, "SELECT name FROM experiments"), ElementsAre("s"));
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_THAT(Query(path, "SELECT name FROM experiments"), ElementsAre("changed"));
}

TEST(Reader, DoesNotKeepTheWriterWaiting) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const auto store = OpenStore(path);
  const StoredExperiment experiment = WriteSampleSweep(*store, "s");
  const auto reader = Database::Open(path, Access::kRead);
  auto query = (*reader)->PrepareQuery("SELECT number FROM trials");
  ASSERT_TRUE(*query->Step());  // In the middle of reading.
  EXPECT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, OneReport(5)).ok());
  EXPECT_TRUE(*query->Step());
}

TEST(Reader, LeavesNothingBesideADatabaseAtRest) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  const std::string before = ReadText(path);
  EXPECT_THAT(Query(path, "SELECT name FROM experiments"), ElementsAre("s"));
  EXPECT_THAT(folder.List(), ElementsAre("tune.db"));
  EXPECT_EQ(ReadText(path), before);
}

TEST(Reader, ReadsAFileAndAFolderThatMayNotBeWritten) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  chmod(path.c_str(), 0444);
  chmod(folder.path().c_str(), 0555);
  EXPECT_EQ(InChild([&] {
              BecomeNobody();
              return Query(path, "SELECT name FROM experiments").at(0);
            }),
            "s");
  chmod(folder.path().c_str(), 0755);
  EXPECT_THAT(folder.List(), ElementsAre("tune.db"));
}

TEST(Reader, MayNotWrite) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  const auto reader = Database::Open(path, Access::kRead);
  EXPECT_FALSE((*reader)->Run("DELETE FROM experiment_rows").ok());
  EXPECT_THAT(Query(path, "SELECT name FROM experiments"), ElementsAre("s"));
}

// ---- files that are not ours, or not well

// Each is refused with its name, and neither it nor its folder is changed.
void ExpectRefusedUntouched(const TempFolder& folder, const std::string& name, StatusCode code,
                            const std::string& words) {
  const std::string path = folder / name;
  const std::string before = ReadText(path);
  const std::vector<std::string> files = folder.List();
  for (const Access access : {Access::kRead, Access::kWrite, Access::kCreate}) {
    const Status status = OpenError(path, access);
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_THAT(status.message(), AllOf(HasSubstr(path), HasSubstr(words)));
  }
  EXPECT_EQ(ReadText(path), before);
  EXPECT_EQ(folder.List(), files);
}

TEST(Open, RefusesAnotherProgramsDatabaseUntouched) {
  const TempFolder folder;
  const std::string path = folder / "photos.db";
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(
          other, "PRAGMA journal_mode=WAL; CREATE TABLE trials (a); INSERT INTO trials VALUES (1);",
          nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(other);
  ExpectRefusedUntouched(folder, "photos.db", StatusCode::kFailedPrecondition,
                         "another program's SQLite file");
}

TEST(Open, RefusesAFileThatIsNoDatabaseUntouched) {
  const TempFolder folder;
  WriteText(folder / "space.yaml", "name: food11\nmetric: val_accuracy\n");
  ExpectRefusedUntouched(folder, "space.yaml", StatusCode::kFailedPrecondition,
                         "is not a tune database");
  WriteText(folder / "long.txt", std::string(100'000, 'x'));
  ExpectRefusedUntouched(folder, "long.txt", StatusCode::kFailedPrecondition,
                         "is not a tune database");
}

TEST(Open, ADatabaseCutShortIsRefusedOrTellsItsLoss) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  const std::string whole = ReadText(path);
  for (const size_t size :
       {size_t{1}, size_t{50}, size_t{99}, size_t{600}, size_t{4096}, whole.size() / 2}) {
    WriteText(path, whole.substr(0, size));
    const auto reader = Database::Open(path, Access::kRead);
    if (!reader.ok()) {
      EXPECT_THAT(reader.status().message(), HasSubstr(path)) << size;
      continue;
    }
    const auto rows = Query(path, "SELECT count() FROM reports");
    EXPECT_THAT(rows.at(0), AllOf(HasSubstr(path), HasSubstr("malformed"))) << size;
  }
}

// As a full disk or a kill leaves it: the main file's first page says more pages than there are,
// and only the WAL has them.
TEST(Open, ACheckpointCutShortLosesNothing) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  const StoredExperiment experiment = WriteSampleSweep(*store, "s");
  Transition rows = OneReport(3);  // Large: the file must grow by it.
  rows.reports[0].metrics.emplace_back(std::string(50'000, 'm'), 1.0);
  ASSERT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  std::string main_file = ReadText(folder / "tune.db");
  main_file.replace(28, 4, std::string("\0\0\x03\xe8", 4));
  WriteText(folder / "cut.db", main_file);
  WriteText(folder / "cut.db-wal", ReadText(folder / "tune.db-wal"));
  EXPECT_EQ(Query(folder / "cut.db", "SELECT count() FROM reports"),
            Query(folder / "tune.db", "SELECT count() FROM reports"));
  EXPECT_TRUE(SqliteStore::Open(folder / "cut.db", Access::kWrite, kSampleStart).ok());
}

TEST(Open, AMissingOrEmptyFileIsMadeOnlyByCreate) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  for (const bool is_empty_file : {false, true}) {
    if (is_empty_file) WriteText(path, "");
    for (const Access access : {Access::kRead, Access::kWrite}) {
      const Status status = OpenError(path, access);
      EXPECT_EQ(status.code(), StatusCode::kNotFound);
      EXPECT_THAT(status.message(), HasSubstr(path));
    }
    EXPECT_EQ(folder.List().size(), is_empty_file ? 1u : 0u);
  }
  EXPECT_TRUE(OpenError(path, Access::kCreate).ok());
  EXPECT_THAT(folder.List(), ElementsAre("tune.db"));
  EXPECT_TRUE(OpenError(path, Access::kWrite).ok());
}

TEST(Open, RefusesFoldersAndFoldersThatAreNotThere) {
  const TempFolder folder;
  EXPECT_THAT(OpenError(folder.path(), Access::kCreate).message(), HasSubstr("is a folder"));
  EXPECT_THAT(OpenError(folder / "no/tune.db", Access::kCreate).message(),
              AllOf(HasSubstr("no does not exist"), HasSubstr("mkdir -p")));
  WriteText(folder / "file", "x");
  EXPECT_FALSE(OpenError(folder / "file/tune.db", Access::kCreate).ok());
  EXPECT_THAT(folder.List(), ElementsAre("file"));
}

TEST(Open, AFolderThatMayNotBeWrittenIsOneClearLine) {
  const TempFolder folder;
  chmod(folder.path().c_str(), 0555);
  const std::string message = InChild([&] {
    BecomeNobody();
    return OpenError(folder / "tune.db", Access::kCreate).message();
  });
  EXPECT_THAT(message, AllOf(HasSubstr("is not writable"), HasSubstr("--db")));
  chmod(folder.path().c_str(), 0755);
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST(Open, ADatabaseThatMayNotBeReadIsOneClearLine) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  chmod(path.c_str(), 0);
  EXPECT_THAT(InChild([&] {
                BecomeNobody();
                return OpenError(path, Access::kRead).message();
              }),
              AllOf(HasSubstr(path), HasSubstr("permissions")));
}

TEST(Open, KnowsTheFileSystemsWhereWalCannotWork) {
  EXPECT_STREQ(NetworkFileSystemName(0x6969), "NFS");
  EXPECT_STREQ(NetworkFileSystemName(int64_t{0xff534d42}), "SMB");
  EXPECT_EQ(NetworkFileSystemName(0xef53), nullptr);      // ext4.
  EXPECT_EQ(NetworkFileSystemName(0x01021994), nullptr);  // tmpfs.
}

TEST(Open, ADatabaseOfANewerProgramIsRefused) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  {
    const auto database = Database::Open(path, Access::kWrite);
    ASSERT_TRUE((*database)->Execute("PRAGMA user_version = 1000").ok());
  }
  const Status status = OpenError(path, Access::kCreate);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("newer tune (schema 1000"));
  const auto reader = Database::Open(path, Access::kRead);
  EXPECT_EQ(CheckSchema(**reader).code(), StatusCode::kFailedPrecondition);
}

TEST(Open, ACreationThatDiedHalfwayIsBegunAgain) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {  // The header says that it is ours, the schema is not there yet.
    sqlite3* half = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &half), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(half, "PRAGMA application_id = 1953853029;", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(half);
  }
  EXPECT_EQ(OpenError(path, Access::kWrite).code(), StatusCode::kNotFound);
  const auto store = OpenStore(path);
  EXPECT_TRUE(store->CreateExperiment(SampleExperiment("s")).ok());
}

// ---- what was measured of lanes

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

// ---- databases of earlier programs

// Made from tests/golden/db/v<version>.sql.
std::string ThawDatabase(const TempFolder& folder, int version) {
  const std::string path = folder / "frozen.db";
  const char* const root = std::getenv("TUNE_SOURCE_DIR");
  const std::string sql = ReadText(std::string(root == nullptr ? "." : root) +
                                   "/tests/golden/db/v" + std::to_string(version) + ".sql");
  EXPECT_FALSE(sql.empty());
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
  return path;
}

constexpr char kSchemaSql[] = "SELECT type, name, sql FROM sqlite_schema ORDER BY name";

TEST(FrozenDatabase, OfEachVersionIsBroughtUpToDateAndGoesOn) {
  const TempFolder fresh;
  WriteSampleSweep(*OpenStore(fresh / "tune.db"), "frozen");
  for (int version = 1; version <= SchemaVersion(); ++version) {
    const TempFolder folder;
    const std::string path = ThawDatabase(folder, version);
    {
      const auto store = OpenStore(path, Access::kWrite);
      ASSERT_NE(store, nullptr);
      const auto journal = store->ReadJournal(ExperimentId{1});
      ASSERT_TRUE(journal.ok()) << journal.status().message();
      ASSERT_EQ(journal->size(), 2u);
      const auto events = DecodeEvents(journal->at(0).events);
      ASSERT_TRUE(events.ok()) << events.status().message();
      EXPECT_EQ(EncodeEvents(*events), EncodeEvents(SampleEvents()));
      EXPECT_EQ(store->ReadSuggestions(ExperimentId{1})->at(3).second,
                SampleTrial(3).configuration);
    }
    EXPECT_EQ(Query(path, kSchemaSql), Query(fresh / "tune.db", kSchemaSql))
        << "from version " << version;
    EXPECT_EQ(Query(path, "SELECT number, status, config, best_value FROM trials ORDER BY id"),
              Query(fresh / "tune.db",
                    "SELECT number, status, config, best_value FROM trials ORDER BY id"));
    const auto store = OpenStore(path, Access::kWrite);
    EXPECT_TRUE(store->Commit(ExperimentId{1}, {3, kSampleStart, "[]"}, OneReport(3)).ok());
  }
}

// ---- a full disk

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
  EXPECT_THAT(answer, AllOf(HasSubstr("tune.db"), HasSubstr("full"), HasSubstr("tune resume")));
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
