#include "tuner/sqlite/sqlite_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/json.h"
#include "core/limits.h"
#include "core/resources.h"
#include "core/value.h"
#include "tuner/row_lines.h"
#include "tuner/sqlite/database_file.h"
#include "tuner/sqlite/integrity.h"
#include "tuner/sqlite/journal_checksum.h"
#include "tuner/sqlite/schema.h"

namespace tune {
namespace {

std::optional<int64_t> Us(const std::optional<Instant>& instant) {
  return instant.has_value() ? std::optional<int64_t>(instant->us) : std::nullopt;
}

// NULL where there is nothing to say.
std::optional<std::string_view> TextOrNull(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

Metric FiniteOrNothing(const Metric& metric) {
  return metric.has_value() && std::isfinite(*metric) ? metric : std::nullopt;
}

std::optional<std::string_view> StopReasonOrNull(StopReason reason) {
  if (reason == StopReason::kNone) return std::nullopt;
  return StopReasonName(reason);
}

void AppendDevices(const std::vector<Device>& devices, std::string& out) {
  out.push_back('[');
  for (const Device& device : devices) {
    if (out.back() != '[') out.push_back(',');
    out += "{\"index\":" + std::to_string(device.index) + ",\"name\":";
    AppendJsonString(device.name, out);
    out += ",\"memory_bytes\":" + std::to_string(device.memory_bytes);
    if (!device.uuid.empty()) {
      out += ",\"uuid\":";
      AppendJsonString(device.uuid, out);
    }
    out.push_back('}');
  }
  out.push_back(']');
}

// A creation that found no room leaves an empty file, and one to roll it back; nobody else can have
// made them, since the lock is ours.
void RemoveEmptyDatabase(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || info.st_size != 0) return;
  (void)unlink(path.c_str());
  (void)unlink((path + "-journal").c_str());
}

Result<std::unique_ptr<Database>> OpenAndMigrate(const std::string& path, Access access,
                                                 const std::string& vfs) {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Database> database, Database::Open(path, access, vfs));
  if (access == Access::kWrite) TUNE_RETURN_IF_ERROR(CheckSchema(*database));
  TUNE_RETURN_IF_ERROR(Migrate(*database));
  TUNE_RETURN_IF_ERROR(database->MakeDurable());  // Before anything is decided from it.
  return database;
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path, Access access,
                                                       Instant now, const std::string& vfs) {
  TUNE_CHECK(access != Access::kRead);
  std::optional<WriterLock> lock;
  if (vfs.empty()) {
    // Before the lock's file is made.
    TUNE_RETURN_IF_ERROR(CheckDatabaseFile(path, access));
    TUNE_ASSIGN_OR_RETURN(WriterLock acquired, AcquireWriterLock(path, now));
    const bool looks_at_pages = access == Access::kWrite || IsCheckedQuickly(path);
    TUNE_RETURN_IF_ERROR(CheckWhatIsThere(path, looks_at_pages, acquired.committed()));
    acquired.Settle();
    lock.emplace(std::move(acquired));
  }
  struct stat info;
  const bool was_there = stat(path.c_str(), &info) == 0;
  Result<std::unique_ptr<Database>> database = OpenAndMigrate(path, access, vfs);
  if (!database.ok()) {
    if (vfs.empty() && !was_there) RemoveEmptyDatabase(path);
    return database.status();
  }
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(lock), *std::move(database)));
}

SqliteStore::~SqliteStore() {
  if (database_->HasMoved() || files_.Look() != FileWatch::Change::kNone) return;
  // For readers that are just at it; who reads for long keeps it.
  (void)database_->Execute("PRAGMA busy_timeout = 200; PRAGMA wal_checkpoint(TRUNCATE);");
}

// ---- commit

Status SqliteStore::CommitSteps(std::span<const SweepStep> steps) {
  if (steps.empty()) return OkStatus();
  TUNE_RETURN_IF_ERROR(CheckFiles());
  for (const SweepStep& step : steps) {
    if (!known_.contains(step.experiment)) TUNE_RETURN_IF_ERROR(LoadRowIds(step.experiment));
  }
  const Status status = WriteAll(steps);
  NoteWritten();
  if (!status.ok()) {
    known_.clear();  // Ids that were given out in what is rolled back are nobody's.
    return status;
  }
  has_unsynced_ = false;
  // One of them stands for all: they are there together or not at all.
  committed_ = {steps.back().experiment.value, steps.back().step.step};
  if (lock_) lock_->NoteCommitted(*committed_);
  return status;
}

// After each commit, or what was to be one: that was not somebody else.
void SqliteStore::NoteWritten() {
  const bool has_folded = database_->TakeHasFolded();
  files_.Note(has_folded ? FileWatch::Wrote::kBoth : FileWatch::Wrote::kWal);
}

// Before each commit: what is committed into files that are not the database's any more, or that
// others have spoiled, nobody will find.
Status SqliteStore::CheckFiles() {
  const std::string& path = database_->path();
  if (database_->HasMoved()) return KeepCopy(path + ": the database was moved or removed");
  switch (files_.Look()) {
    case FileWatch::Change::kNone:
      return OkStatus();
    case FileWatch::Change::kWalGone:
      return KeepCopy(path + "-wal: it was moved, removed or replaced");
    case FileWatch::Change::kWritten:
      break;
  }
  // Another program of SQLite's may write into it as it likes.
  const Status whole = CheckWhatIsThere(path, /*looks_at_pages=*/true, committed_);
  if (whole.ok()) {
    files_.Note(FileWatch::Wrote::kBoth);
    return OkStatus();
  }
  if (lock_) lock_->Unsettle();
  return DataLoss(path +
                  ": another program wrote over it while the sweep ran, and what was reported is "
                  "lost but for a backup (" +
                  whole.message() + ")");
}

// The WAL lies where the file was: what it holds goes into the file, wherever that is, and into a
// copy, since the file may be removed.
Status SqliteStore::KeepCopy(const std::string& what) {
  const std::string& path = database_->path();
  std::string copy = path + ".kept";
  std::error_code error;
  for (int i = 2; std::filesystem::exists(copy, error); ++i) {
    copy = path + ".kept-" + std::to_string(i);
  }
  const Status folded = database_->Execute("PRAGMA wal_checkpoint(TRUNCATE);");
  const Status copied = database_->CopyTo(copy);
  const std::string text = what + " while the sweep ran; ";
  if (copied.ok()) {
    return FailedPrecondition(text + copy + " holds all that was reported: give it the name " +
                              path + ", and leave no -wal and no -shm of that name beside it");
  }
  std::filesystem::remove(copy, error);
  const std::string why = " (no copy could be made: " + copied.message() + ")";
  if (folded.ok()) {
    return FailedPrecondition(text + "the database itself holds all that was reported" + why);
  }
  return FailedPrecondition(text + "put it back, the database together with its -wal file" + why);
}

Status SqliteStore::WriteAll(std::span<const SweepStep> steps) {
  TUNE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*database_));
  for (const SweepStep& step : steps) TUNE_RETURN_IF_ERROR(WriteRows(step));
  return transaction.Commit();
}

Status SqliteStore::WriteRows(const SweepStep& step) {
  const ExperimentId experiment = step.experiment;
  const Transition& transition = step.rows;
  ids_ = &known_.at(experiment);
  TUNE_RETURN_IF_ERROR(WriteStep(experiment, step.step));
  for (const WorkerRow& row : transition.workers)
    TUNE_RETURN_IF_ERROR(WriteWorker(experiment, row));
  for (const NewTrialRow& row : transition.new_trials)
    TUNE_RETURN_IF_ERROR(WriteNewTrial(experiment, row));
  for (const TrialRow& row : transition.trials) TUNE_RETURN_IF_ERROR(WriteTrial(row));
  for (const AttemptRow& row : transition.attempts) TUNE_RETURN_IF_ERROR(WriteAttempt(row));
  for (const ReportRow& row : transition.reports) TUNE_RETURN_IF_ERROR(WriteReport(row));
  for (const OrderRow& row : transition.orders) TUNE_RETURN_IF_ERROR(WriteOrder(row));
  for (const ExploitRow& row : transition.exploits) TUNE_RETURN_IF_ERROR(WriteExploit(row));
  for (const CheckpointRow& row : transition.checkpoints)
    TUNE_RETURN_IF_ERROR(WriteCheckpoint(row));
  for (const NoteRow& row : transition.notes) TUNE_RETURN_IF_ERROR(WriteNote(row));
  for (const LaneSpeedRow& row : transition.lane_speeds)
    TUNE_RETURN_IF_ERROR(WriteLaneSpeed(experiment, row));
  if (transition.experiment.has_value()) {
    TUNE_RETURN_IF_ERROR(WriteExperiment(experiment, *transition.experiment));
  }
  if (transition.present_spec.has_value()) {
    static constexpr char kUpdateSpecSql[] =
        "UPDATE experiment_rows SET present_spec = ?2 WHERE id = ?1";
    TUNE_RETURN_IF_ERROR(
        database_->Run(kUpdateSpecSql, experiment.value, *transition.present_spec));
  }
  return OkStatus();
}

Status SqliteStore::WriteStep(ExperimentId experiment, const JournalStep& step) {
  // Only the step after the last one: two writers cannot both continue the same journal.
  static constexpr char kInsertStepSql[] =
      "INSERT INTO journal_rows (id, at_us, events, checksum)"
      " SELECT (?1 << 40) + ?2, ?3, ?4, ?5"
      " WHERE (?1 << 40) + ?2 = 1 + coalesce((SELECT max(id) FROM journal_rows"
      "   WHERE id BETWEEN ?1 << 40 AND (?1 + 1 << 40) - 1), ?1 << 40)";
  const uint64_t checksum = StepChecksum(ids_->last_checksum, step.step, step.at.us, step.events);
  TUNE_RETURN_IF_ERROR(database_->Run(kInsertStepSql, experiment.value, step.step, step.at.us,
                                      step.events, std::bit_cast<int64_t>(checksum)));
  if (database_->change_count() == 1) {
    ids_->last_checksum = checksum;
    return OkStatus();
  }
  return FailedPrecondition(
      database_->path() + ": step " + std::to_string(step.step) +
      " does not follow the last one of the journal; another tuner wrote to it");
}

Status SqliteStore::WriteNewTrial(ExperimentId experiment, const NewTrialRow& row) {
  static constexpr char kInsertTrialSql[] =
      "INSERT INTO trial_rows (experiment, number, status, stop_reason, iterations, last_value,"
      " best_value, best_iteration, attempts, created_us, started_us, finished_us, run_seconds,"
      " violation)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
  static constexpr char kInsertConfigurationSql[] =
      "INSERT INTO configuration_rows (trial, flat, nested) VALUES (?1, ?2, ?3)";
  const TrialRow& trial = row.trial;
  TUNE_CHECK(trial.number.value >= 0);  // A sweep without an end has any number of them.
  TUNE_RETURN_IF_ERROR(database_->Run(
      kInsertTrialSql, experiment.value, trial.number.value, TrialStatusName(trial.status),
      StopReasonOrNull(trial.stop_reason), trial.iterations, trial.last_value, trial.best_value,
      trial.best_iteration, trial.attempts, trial.created_at.us, Us(trial.started_at),
      Us(trial.finished_at), trial.run_seconds, trial.best_violation));
  const int64_t id = database_->last_insert_id();
  const auto index = static_cast<size_t>(trial.number.value);
  if (ids_->trials.size() <= index) ids_->trials.resize(index + 1);
  ids_->trials[index] = id;
  return database_->Run(kInsertConfigurationSql, id, ToJson(row.configuration.ToFlat()),
                        ToJson(row.configuration.ToNested()));
}

Status SqliteStore::WriteTrial(const TrialRow& row) {
  static constexpr char kUpdateTrialSql[] =
      "UPDATE trial_rows SET status = ?2, stop_reason = ?3, iterations = ?4, last_value = ?5,"
      " best_value = ?6, best_iteration = ?7, attempts = ?8, started_us = ?9, finished_us = ?10,"
      " run_seconds = ?11, violation = ?12 WHERE id = ?1";
  TUNE_ASSIGN_OR_RETURN(const int64_t id, TrialId(row.number));
  return database_->Run(kUpdateTrialSql, id, TrialStatusName(row.status),
                        StopReasonOrNull(row.stop_reason), row.iterations, row.last_value,
                        row.best_value, row.best_iteration, row.attempts, Us(row.started_at),
                        Us(row.finished_at), row.run_seconds, row.best_violation);
}

// JSON, as the schema says; empty: it holds no device.
Result<std::string> SqliteStore::TextOfDevices(const AttemptRow& row) const {
  std::string text;
  for (const auto& [worker, slice] : row.devices) {
    TUNE_ASSIGN_OR_RETURN(const int64_t id, WorkerRowId(worker));
    text += (text.empty() ? "[{" : ",{");
    text += "\"worker\":" + std::to_string(id) + ",\"device\":" + std::to_string(slice.device) +
            ",\"gpu\":" + ToJson(Value(InWholes(slice.milli))) + "}";
  }
  if (!text.empty()) text += "]";
  return text;
}

Status SqliteStore::WriteAttempt(const AttemptRow& row) {
  static constexpr char kUpsertAttemptSql[] =
      "INSERT INTO attempt_rows (trial, number, worker, outcome, error, from_iteration, started_us,"
      " finished_us, other_workers, devices)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
      " ON CONFLICT (trial, number) DO UPDATE SET worker = excluded.worker,"
      " outcome = excluded.outcome, error = excluded.error,"
      " from_iteration = excluded.from_iteration, started_us = excluded.started_us,"
      " finished_us = excluded.finished_us, other_workers = excluded.other_workers,"
      " devices = excluded.devices";
  TUNE_ASSIGN_OR_RETURN(const int64_t trial, TrialId(row.trial));
  std::optional<int64_t> worker;
  if (row.worker.has_value()) {
    TUNE_ASSIGN_OR_RETURN(worker, WorkerRowId(*row.worker));
  }
  std::string others;  // A JSON list.
  for (const WorkerId other : row.other_workers) {
    TUNE_ASSIGN_OR_RETURN(const int64_t id, WorkerRowId(other));
    others += (others.empty() ? "[" : ",") + std::to_string(id);
  }
  if (!others.empty()) others += "]";
  TUNE_ASSIGN_OR_RETURN(const std::string devices, TextOfDevices(row));
  const std::string_view error = std::string_view(row.error).substr(0, limits::kErrorBytesMax);
  return database_->Run(kUpsertAttemptSql, trial, row.number.value, worker,
                        OutcomeName(row.outcome), TextOrNull(error), row.from_iteration,
                        row.started_at.us, Us(row.finished_at), TextOrNull(others),
                        TextOrNull(devices));
}

Status SqliteStore::WriteReport(const ReportRow& row) {
  static constexpr char kInsertReportSql[] =
      "INSERT INTO report_rows (trial, attempt, iteration, value, metrics, reported_us, decision,"
      " rung, cutoff, rank, count) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
      // An iteration that was reported in part before.
      " ON CONFLICT (trial, attempt, iteration) DO UPDATE SET value = excluded.value,"
      " metrics = excluded.metrics, reported_us = excluded.reported_us,"
      " decision = excluded.decision, rung = excluded.rung, cutoff = excluded.cutoff,"
      " rank = excluded.rank, count = excluded.count";
  TUNE_ASSIGN_OR_RETURN(const int64_t trial, TrialId(row.trial));
  text_.clear();
  AppendMetrics(row.metrics, text_);
  const Decision decision = row.decision.value_or(Decision());
  std::optional<int64_t> verdict;
  if (row.decision.has_value()) verdict.emplace(static_cast<int64_t>(decision.verdict));
  return database_->Run(kInsertReportSql, trial, row.attempt.value, row.iteration,
                        FiniteOrNothing(row.value), text_, row.reported_at.us, verdict,
                        decision.rung, decision.cutoff, decision.rank, decision.count);
}
static_assert(static_cast<int>(Verdict::kContinue) == 0 && static_cast<int>(Verdict::kStop) == 1 &&
              static_cast<int>(Verdict::kPause) == 2);  // The decisions view names these numbers.

Status SqliteStore::WriteOrder(const OrderRow& row) {
  static constexpr char kInsertOrderSql[] =
      "INSERT INTO order_rows (trial, iteration, kind, rung, cutoff, rank, count, ordered_us)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
  TUNE_ASSIGN_OR_RETURN(const int64_t trial, TrialId(row.order.trial));
  return database_->Run(kInsertOrderSql, trial, row.iteration, static_cast<int64_t>(row.order.kind),
                        row.order.rung, row.order.cutoff, row.order.rank, row.order.count,
                        row.ordered_at.us);
}
static_assert(static_cast<int>(Order::Kind::kResume) == 0 &&
              static_cast<int>(Order::Kind::kStop) == 1 &&
              static_cast<int>(Order::Kind::kExploit) == 2);  // As the schema names them.

Status SqliteStore::WriteExploit(const ExploitRow& row) {
  static constexpr char kInsertExploitSql[] =
      "INSERT INTO exploit_rows (trial, iteration, source, source_iteration, flat, nested)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
  TUNE_ASSIGN_OR_RETURN(const int64_t trial, TrialId(row.trial));
  return database_->Run(kInsertExploitSql, trial, row.iteration, row.source.value,
                        row.source_iteration, ToJson(row.configuration.ToFlat()),
                        ToJson(row.configuration.ToNested()));
}

Status SqliteStore::WriteCheckpoint(const CheckpointRow& row) {
  static constexpr char kUpsertCheckpointSql[] =
      "INSERT INTO checkpoint_rows (trial, iteration, path, bytes, checksum, state)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (trial, iteration, path)"
      " DO UPDATE SET bytes = excluded.bytes, checksum = excluded.checksum, state = excluded.state";
  TUNE_ASSIGN_OR_RETURN(const int64_t trial, TrialId(row.trial));
  return database_->Run(kUpsertCheckpointSql, trial, row.iteration, row.ref.path, row.ref.bytes,
                        row.ref.checksum, CheckpointStateName(row.state));
}

Status SqliteStore::WriteNote(const NoteRow& row) {
  static constexpr char kInsertNoteSql[] =
      "INSERT INTO note_rows (trial, kind, text) VALUES (?1, ?2, ?3)"
      " ON CONFLICT (trial, kind) DO NOTHING";
  TUNE_ASSIGN_OR_RETURN(const int64_t trial, TrialId(row.trial));
  return database_->Run(kInsertNoteSql, trial, row.kind, row.text);
}

Status SqliteStore::WriteLaneSpeed(ExperimentId experiment, const LaneSpeedRow& row) {
  static constexpr char kUpsertLaneSpeedSql[] =
      "INSERT INTO lane_speed_rows"
      " (experiment, shape, device, lanes, images_per_second, report_count)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (experiment, shape, device, lanes) DO UPDATE"
      " SET images_per_second = excluded.images_per_second, report_count = excluded.report_count";
  return database_->Run(kUpsertLaneSpeedSql, experiment.value, row.kind.shape, row.kind.device,
                        row.speed.lanes, row.speed.images_per_second, row.speed.report_count);
}

Status SqliteStore::WriteWorker(ExperimentId experiment, const WorkerRow& row) {
  static constexpr char kInsertWorkerSql[] =
      "INSERT INTO worker_rows (name, address, cpu_milli, devices, device_count, state, joined_us,"
      " last_seen_us, is_local, session, has_reported, failed_starts, is_shunning_said, experiment,"
      " number) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
  static constexpr char kUpdateWorkerSql[] =
      "UPDATE worker_rows SET name = ?1, address = ?2, cpu_milli = ?3, devices = ?4,"
      " device_count = ?5, state = ?6, joined_us = ?7, last_seen_us = ?8, is_local = ?9,"
      " session = ?10, has_reported = ?11, failed_starts = ?12, is_shunning_said = ?13"
      " WHERE id = ?14";
  TUNE_CHECK(row.worker.value >= 1);
  text_.clear();
  AppendDevices(row.capacity.devices, text_);
  int64_t& id = ids_->workers[row.worker];
  const auto write = [&](const char* sql, auto... key) {
    return database_->Run(sql, row.name, row.address, row.capacity.cpu_milli, text_,
                          row.capacity.devices.size(), WorkerStateName(row.state), row.joined_at.us,
                          row.last_seen_at.us, row.is_local, row.session, row.has_reported,
                          row.failed_starts, row.is_shunning_said, key...);
  };
  if (id != 0) return write(kUpdateWorkerSql, id);
  TUNE_RETURN_IF_ERROR(write(kInsertWorkerSql, experiment.value, row.worker.value));
  id = database_->last_insert_id();
  return OkStatus();
}

Status SqliteStore::WriteExperiment(ExperimentId experiment, const ExperimentRow& row) {
  static constexpr char kUpdateExperimentSql[] =
      "UPDATE experiment_rows SET status = ?2, samples = ?3, finished_us = ?4, given_up = ?5,"
      " ended_early = ?6 WHERE id = ?1";
  return database_->Run(kUpdateExperimentSql, experiment.value, ExperimentStatusName(row.status),
                        row.samples, Us(row.finished_at), row.given_up, row.ended_early);
}

// ---- ids

Status SqliteStore::LoadRowIds(ExperimentId experiment) {
  static constexpr char kExperimentSql[] = "SELECT name FROM experiment_rows WHERE id = ?1";
  static constexpr char kTrialIdsSql[] =
      "SELECT number, id FROM trial_rows WHERE experiment = ?1 ORDER BY number";
  static constexpr char kWorkerIdsSql[] =
      "SELECT number, id FROM worker_rows WHERE experiment = ?1 ORDER BY number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kExperimentSql));
  row->BindAll(experiment.value);
  TUNE_ASSIGN_OR_RETURN(const bool is_there, row->Step());
  const std::string name(is_there ? row->Text(0) : std::string_view());
  if (!is_there) {
    return NotFound(database_->path() + ": there is no experiment " +
                    std::to_string(experiment.value));
  }
  if (lock_ && !lock_->is_of_head()) TUNE_RETURN_IF_ERROR(lock_->Announce(name));
  RowIds ids;
  const auto load = [&](const char* sql, const auto& take) -> Status {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement statement, database_->Kept(sql));
    statement->BindAll(experiment.value);
    for (;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_row, statement->Step());
      if (!has_row) return OkStatus();
      take(statement->Int(0), statement->Int(1));
    }
  };
  static constexpr char kLastChecksumSql[] =
      "SELECT checksum FROM journal_rows WHERE id BETWEEN ?1 << 40 AND (?1 + 1 << 40) - 1"
      " ORDER BY id DESC LIMIT 1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement last, database_->Kept(kLastChecksumSql));
  last->BindAll(experiment.value);
  TUNE_ASSIGN_OR_RETURN(const bool has_step, last->Step());
  ids.last_checksum = has_step ? std::bit_cast<uint64_t>(last->Int(0)) : 0;
  TUNE_RETURN_IF_ERROR(load(kTrialIdsSql, [&ids](int64_t number, int64_t id) {
    ids.trials.resize(static_cast<size_t>(number) + 1);
    ids.trials.back() = id;
  }));
  TUNE_RETURN_IF_ERROR(load(
      kWorkerIdsSql, [&ids](int64_t number, int64_t id) { ids.workers[WorkerId{number}] = id; }));
  known_[experiment] = std::move(ids);
  return OkStatus();
}

Result<int64_t> SqliteStore::TrialId(TrialNumber number) const {
  const auto index = static_cast<size_t>(number.value);
  if (index < ids_->trials.size() && ids_->trials[index] != 0) return ids_->trials[index];
  return Internal(database_->path() + ": a row of trial " + std::to_string(number.value) +
                  " came before the trial");
}

Result<int64_t> SqliteStore::WorkerRowId(WorkerId worker) const {
  const auto found = ids_->workers.find(worker);
  if (found != ids_->workers.end() && found->second != 0) return found->second;
  return Internal(database_->path() + ": a row of worker " + std::to_string(worker.value) +
                  " came before the worker");
}

}  // namespace tune
