// A small sweep in a database, as a tuner would have written it: four trials under asha, one of
// which failed once, one was stopped, one reported NaN. Also what tests need to look at databases.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuner/sqlite/sqlite_store.h"

namespace tune {

inline constexpr Instant kSampleStart{1'795'253'400'125'999};  // 2026-11-21T09:30:00.125999Z.

inline NewExperiment SampleExperiment(const std::string& name) {
  NewExperiment experiment;
  experiment.name = name;
  experiment.metric = "val_accuracy";
  experiment.mode = "max";
  experiment.seed = 7;
  experiment.samples = 4;
  experiment.spec =
      R"({"name":")" + name +
      R"(","metric":"val_accuracy","mode":"max","samples":4,"scheduler":{"asha":{"max_t":4}}})";
  experiment.base_dir = "/sweeps";
  experiment.provenance = R"({"version":"0.1.0"})";
  experiment.created_at = kSampleStart;
  return experiment;
}

inline Instant SampleTime(int64_t seconds) { return kSampleStart + Seconds(double(seconds)); }

inline NewTrialRow SampleTrial(int64_t number) {
  NewTrialRow row;
  row.trial.number = TrialNumber{number};
  row.trial.created_at = SampleTime(number);
  row.configuration.Set("lr", 0.1 * static_cast<double>(number + 1));
  row.configuration.Set("batch_size", 32 << (number % 4));
  row.configuration.Set("optimizer/kind", number % 2 == 0 ? "adam" : "sgd, \"plain\"");
  row.configuration.Set("augment", true);
  return row;
}

inline ReportRow SampleReport(int64_t trial, int64_t attempt, int64_t iteration, double value) {
  ReportRow row;
  row.trial = TrialNumber{trial};
  row.attempt = AttemptNumber{attempt};
  row.iteration = iteration;
  if (!std::isnan(value)) row.value = value;
  row.metrics = {{"val_accuracy", value}, {"val_loss", 1 - value}};
  row.reported_at = SampleTime(10 + iteration);
  return row;
}

inline Transition OneReport(int64_t iteration) {
  Transition rows;
  rows.reports = {SampleReport(0, 1, iteration, 0.5)};
  return rows;
}

inline Decision SampleDecision(Verdict verdict, int64_t rung, double cutoff, int64_t rank,
                               int64_t count) {
  Decision decision;
  decision.verdict = verdict;
  decision.cause = verdict == Verdict::kStop ? StopCause::kScheduler : StopCause::kNone;
  decision.rung = rung;
  decision.cutoff = cutoff;
  decision.rank = rank;
  decision.count = count;
  return decision;
}

inline AttemptRow SampleAttempt(int64_t trial, int64_t number, Outcome outcome) {
  AttemptRow row;
  row.trial = TrialNumber{trial};
  row.number = AttemptNumber{number};
  row.worker = WorkerId{1};
  row.outcome = outcome;
  row.started_at = SampleTime(5);
  if (outcome != Outcome::kRunning) row.finished_at = SampleTime(20);
  return row;
}

// The sweep is left as `status` says; with kRunning trial 3 still runs.
inline Transition SampleRows() {
  Transition rows;
  for (int64_t number = 0; number < 4; ++number) rows.new_trials.push_back(SampleTrial(number));

  WorkerRow worker;
  worker.worker = WorkerId{1};
  worker.name = "local";
  worker.address = "127.0.0.1:4000";
  worker.capacity.cpu_milli = 2500;
  worker.capacity.devices = {{0, "a device", 1 << 30}};
  worker.joined_at = SampleTime(1);
  worker.last_seen_at = SampleTime(30);
  rows.workers.push_back(worker);

  const auto trial = [&](int64_t number, TrialStatus status, StopReason reason, int64_t iterations,
                         Metric last, Metric best, std::optional<int64_t> best_iteration,
                         int64_t attempts) {
    TrialRow row = SampleTrial(number).trial;
    row.status = status;
    row.stop_reason = reason;
    row.iterations = iterations;
    row.last_value = last;
    row.best_value = best;
    row.best_iteration = best_iteration;
    row.attempts = attempts;
    row.started_at = SampleTime(5);
    if (status == TrialStatus::kTerminated || status == TrialStatus::kError)
      row.finished_at = SampleTime(20);
    row.run_seconds = 15;
    rows.trials.push_back(row);
  };
  trial(0, TrialStatus::kTerminated, StopReason::kMaxT, 2, 0.75, 0.75, 2, 2);
  trial(1, TrialStatus::kTerminated, StopReason::kScheduler, 1, 0.25, 0.25, 1, 1);
  trial(2, TrialStatus::kError, StopReason::kNone, 1, std::nullopt, std::nullopt, std::nullopt, 1);
  trial(3, TrialStatus::kRunning, StopReason::kNone, 1, 0.5, 0.5, 1, 1);

  rows.attempts = {SampleAttempt(0, 1, Outcome::kCrashed), SampleAttempt(0, 2, Outcome::kStopped),
                   SampleAttempt(1, 1, Outcome::kStopped),
                   SampleAttempt(2, 1, Outcome::kOutOfMemory),
                   SampleAttempt(3, 1, Outcome::kRunning)};
  rows.attempts[0].error = "it fell over";

  rows.reports = {SampleReport(0, 1, 1, 0.5),
                  SampleReport(0, 2, 1, 0.5),
                  SampleReport(0, 2, 2, 0.75),
                  SampleReport(1, 1, 1, 0.25),
                  SampleReport(2, 1, 1, std::numeric_limits<double>::quiet_NaN()),
                  SampleReport(3, 1, 1, 0.5)};
  rows.reports[0].decision = SampleDecision(Verdict::kContinue, 1, 0.4, 1, 1);
  rows.reports[2].decision = SampleDecision(Verdict::kStop, 2, 0.7, 1, 1);
  rows.reports[2].metrics.emplace_back("test_accuracy", 0.7);
  rows.reports[3].decision = SampleDecision(Verdict::kStop, 1, 0.375, 2, 2);
  rows.reports[4].decision = Decision();
  rows.reports[5].decision = SampleDecision(Verdict::kContinue, 1, 0.5, 1, 3);

  rows.checkpoints = {
      {TrialNumber{0}, 1, {"/a/s/0/checkpoint_1", 100, "00ff"}, CheckpointState::kRemoved},
      {TrialNumber{0}, 2, {"/a/s/0/checkpoint_2", 100, "00fe"}, CheckpointState::kDurable}};
  return rows;
}

// Of a journal before schema 9.
inline std::vector<Event> SampleEvents() {
  ReportArrived report;
  report.worker = WorkerId{1};
  report.message.ref = {TrialNumber{0}, AttemptNumber{1}, LeaseEpoch{1}};
  report.message.sequence = 1;
  report.message.report.iteration = 1;
  report.message.report.metrics = {{"val_accuracy", 0.5}};
  return {
      WorkerJoined{WorkerId{1}, "local", "127.0.0.1:4000", 42, {2500, {{0, "a device", 1 << 30}}}},
      report};
}

inline std::vector<SweepEvent> SampleStream() {
  const auto report = std::get<ReportArrived>(SampleEvents().back());
  const Placement place{WorkerId{1}, kWholeMilli, {{0, 500, 1 << 29}}, ""};
  return {TimeSet{SampleTime(20)},
          TrialTaken{},
          Granted{TrialNumber{0}, {{{report.message.ref, place, 0}, "", 0}}},
          Reported{report, {}},
          TimeLimitsChecked{},
          NoMoreTold{},
          PlaceableSeen{},
          StepEnded{}};
}

// Two steps of the journal.
inline StoredExperiment WriteSampleSweep(SqliteStore& store, const std::string& name) {
  Result<StoredExperiment> experiment = store.CreateExperiment(SampleExperiment(name));
  EXPECT_TRUE(experiment.ok()) << experiment.status().message();
  Status status =
      store.Commit(experiment->id, {1, SampleTime(20), EncodeStream(SampleStream())}, SampleRows());
  EXPECT_TRUE(status.ok()) << status.message();
  status = store.Commit(experiment->id,
                        {2, SampleTime(21), EncodeStream({TimeSet{SampleTime(21)}, StepEnded{}})},
                        Transition());
  EXPECT_TRUE(status.ok()) << status.message();
  return *experiment;
}

inline std::unique_ptr<SqliteStore> OpenStore(const std::string& path,
                                              Access access = Access::kCreate) {
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path, access, kSampleStart);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? *std::move(store) : nullptr;
}

// Why it cannot be opened.
inline Status OpenError(const std::string& path, Access access) {
  if (access == Access::kRead) return Database::Open(path, access).status();
  return SqliteStore::Open(path, access, kSampleStart).status();
}

// All rows of a query: columns parted by '|', NULL as "-".
inline std::vector<std::string> Query(const std::string& path, const std::string& sql) {
  std::vector<std::string> rows;
  Result<std::unique_ptr<Database>> database = Database::Open(path, Access::kRead);
  if (!database.ok()) return {database.status().message()};
  Result<Statement> statement = (*database)->PrepareQuery(sql);
  if (!statement.ok()) return {statement.status().message()};
  for (;;) {
    const Result<bool> has_row = statement->Step();
    if (!has_row.ok()) return {has_row.status().message()};
    if (!*has_row) return rows;
    std::string& row = rows.emplace_back();
    for (int column = 0; column < statement->column_count(); ++column) {
      if (column > 0) row += "|";
      row += statement->IsNull(column) ? "-" : std::string(statement->Text(column));
    }
  }
}

}  // namespace tune
