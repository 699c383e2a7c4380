// Which experiments the store has: they are made, and deleted.
#include <bit>
#include <optional>
#include <utility>

#include "core/json.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune {
namespace {

// What stands in the decisions view: "fifo", or the one key of {asha: {...}}.
std::string SchedulerName(const std::string& spec) {
  const Result<Value> document = ParseJson(spec);
  if (!document.ok() || !document->is_map()) return "fifo";
  const Value* const scheduler = document->Find("scheduler");
  if (scheduler == nullptr) return "fifo";
  if (scheduler->is_string()) return scheduler->AsString();
  if (scheduler->is_map() && scheduler->AsMap().size() == 1) return scheduler->AsMap().front().key;
  return "fifo";
}

}  // namespace

Status SqliteStore::AnnounceHead() { return lock_ ? lock_->AnnounceHead() : OkStatus(); }

Result<StoredExperiment> SqliteStore::CreateExperiment(const NewExperiment& experiment) {
  TUNE_RETURN_IF_ERROR(CheckFiles());
  if (!experiment.is_synced_later) {
    Result<StoredExperiment> created = InsertExperiment(experiment);
    NoteWritten();
    return created;
  }
  std::optional<StoredExperiment> created;
  TUNE_RETURN_IF_ERROR(WithoutSync([&]() -> Status {
    TUNE_ASSIGN_OR_RETURN(created, InsertExperiment(experiment));
    return OkStatus();
  }));
  return *std::move(created);
}

// In the WAL, where the sync of the next transaction finds it: one file is synced as a whole.
Status SqliteStore::WithoutSync(const std::function<Status()>& write) {
  TUNE_RETURN_IF_ERROR(database_->Execute("PRAGMA synchronous = NORMAL"));
  Status written = write();
  const Status restored = database_->Execute("PRAGMA synchronous = FULL");
  NoteWritten();
  // Without it no commit would be durable any more.
  if (!restored.ok()) return Internal(restored.message());
  has_unsynced_ |= written.ok();
  return written;
}

Result<int64_t> SqliteStore::RecordChange(const StoredChange& change) {
  static constexpr char kSql[] =
      "INSERT INTO change_rows (experiment, sweep, changed_us, change, by_name, by_role) VALUES"
      " (iif(?2, NULL, (SELECT id FROM experiment_rows WHERE name = ?1)), ?1, ?3, ?4, ?5, ?6)";
  TUNE_RETURN_IF_ERROR(CheckFiles());
  TUNE_RETURN_IF_ERROR(WithoutSync([&] {
    return database_->Run(kSql, change.sweep, change.outlives, change.at.us, change.change,
                          change.by, change.role);
  }));
  return database_->last_insert_id();
}

Status SqliteStore::ForgetChange(int64_t id) {
  TUNE_RETURN_IF_ERROR(CheckFiles());
  return WithoutSync([&] { return database_->Run("DELETE FROM change_rows WHERE id = ?1", id); });
}

Status SqliteStore::MakeDurable() {
  if (!has_unsynced_) return OkStatus();
  const Status synced = database_->MakeDurable();
  NoteWritten();
  if (synced.ok()) has_unsynced_ = false;
  return synced;
}

Status SqliteStore::DeleteExperiment(const StoredExperiment& experiment) {
  TUNE_RETURN_IF_ERROR(CheckFiles());
  // What the lock's file says on disk may be older than what it says now, and name this one.
  const std::optional<JournalEnd> witness = lock_ ? lock_->committed() : std::nullopt;
  if (lock_) TUNE_RETURN_IF_ERROR(lock_->Forget());
  const Status deleted = EraseExperiment(experiment);
  NoteWritten();
  if (witness && !(deleted.ok() && witness->experiment == experiment.id.value)) {
    lock_->NoteCommitted(*witness);
  }
  return deleted;
}

Result<SweepLabels> SqliteStore::Label(const std::string& name, const LabelChange& change) {
  TUNE_RETURN_IF_ERROR(CheckFiles());
  Result<SweepLabels> labels = UpdateLabels(name, change);
  NoteWritten();
  return labels;
}

Result<StoredExperiment> SqliteStore::InsertExperiment(const NewExperiment& experiment) {
  static constexpr char kNameIsTakenSql[] = "SELECT id FROM experiment_rows WHERE name = ?1";
  static constexpr char kInsertExperimentSql[] =
      "INSERT INTO experiment_rows (name, metric, mode, status, seed, samples, scheduler, spec,"
      " base_dir, provenance, decision_version, created_us, note, tags)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
  TUNE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*database_));
  std::string name = experiment.name;
  // Where the last search of this name ended: a thousand jobs may be called alike.
  int64_t& suffix = next_suffix_.try_emplace(experiment.name, 2).first->second;
  if (suffix > 2) name = experiment.name + "-" + std::to_string(suffix++);
  for (;; ++suffix) {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement is_taken, database_->Kept(kNameIsTakenSql));
    is_taken->BindAll(name);
    TUNE_ASSIGN_OR_RETURN(const bool found, is_taken->Step());
    if (!found) break;
    name = experiment.name + "-" + std::to_string(suffix);
  }
  TUNE_RETURN_IF_ERROR(database_->Run(
      kInsertExperimentSql, name, experiment.metric, experiment.mode,
      ExperimentStatusName(ExperimentStatus::kRunning), std::bit_cast<int64_t>(experiment.seed),
      experiment.samples, SchedulerName(experiment.spec), experiment.spec, experiment.base_dir,
      experiment.provenance, kDecisionVersion, experiment.created_at.us, experiment.labels.note,
      EncodeTags(experiment.labels.tags)));
  const ExperimentId id{database_->last_insert_id()};
  TUNE_RETURN_IF_ERROR(transaction.Commit());
  return StoredExperiment{.id = id,
                          .name = name,
                          .metric = experiment.metric,
                          .mode = experiment.mode,
                          .seed = experiment.seed,
                          .samples = experiment.samples,
                          .spec = experiment.spec,
                          .base_dir = experiment.base_dir,
                          .provenance = experiment.provenance,
                          .decision_version = kDecisionVersion,
                          .status = ExperimentStatus::kRunning,
                          .created_at = experiment.created_at};
}

Result<SweepLabels> SqliteStore::UpdateLabels(const std::string& name, const LabelChange& change) {
  static constexpr char kReadSql[] = "SELECT note, tags FROM experiment_rows WHERE name = ?1";
  static constexpr char kWriteSql[] =
      "UPDATE experiment_rows SET note = ?2, tags = ?3 WHERE name = ?1";
  TUNE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*database_));
  SweepLabels before;
  {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kReadSql));
    row->BindAll(name);
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return NotFound("there is no sweep '" + name + "'");
    before.note = row->Text(0);
    TUNE_ASSIGN_OR_RETURN(before.tags, DecodeTags(row->Text(1)));
  }
  TUNE_ASSIGN_OR_RETURN(SweepLabels labels, Changed(std::move(before), change));
  TUNE_RETURN_IF_ERROR(database_->Run(kWriteSql, name, labels.note, EncodeTags(labels.tags)));
  TUNE_RETURN_IF_ERROR(transaction.Commit());
  return labels;
}

Status SqliteStore::EraseExperiment(const StoredExperiment& experiment) {
  static constexpr char kDeleteSql[] = "DELETE FROM experiment_rows WHERE id = ?1 AND name = ?2";
  TUNE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*database_));
  TUNE_RETURN_IF_ERROR(database_->Run(kDeleteSql, experiment.id.value, experiment.name));
  if (database_->change_count() != 1) return NotFound(experiment.name + " is gone already");
  TUNE_RETURN_IF_ERROR(transaction.Commit());
  known_.erase(experiment.id);
  next_suffix_.clear();  // A name is free again.
  if (committed_ && committed_->experiment == experiment.id.value) committed_.reset();
  return OkStatus();
}

}  // namespace tune
