#include "tuner/cli/keep/delete_command.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trial_runner/bucket/stop_later.h"
#include "tuner/artifact_garbage.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/keep/deleted_folders.h"
#include "tuner/cli/look/stored_changes.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/control/asker.h"
#include "tuner/control/control_client.h"
#include "tuner/sqlite/integrity.h"
#include "tuner/sqlite/schema.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

// A sweep and what goes with it.
struct Doomed {
  FoundSweep sweep;
  int64_t trial_count = 0;
  std::string folder;
  int64_t folder_bytes = 0;
  std::string learner;                 // An unfinished sweep that learns from it.
  std::vector<SweepStorage> storages;  // One where it keeps checkpoints in an object store.

  std::string DescribeHere() const {
    return Printable(sweep.name) + ": " + std::to_string(trial_count) +
           (trial_count == 1 ? " trial, " : " trials, ") + FormatBytes(folder_bytes) +
           " of artifacts";
  }
  std::string Describe() const {
    return DescribeHere() +
           (storages.empty() ? "" : " and all below " + storages.front().root.ToUrl());
  }
};

// The first unfinished sweep that names it in `from`, and cannot be gone on with without it.
Result<std::string> FindLearner(Database& database, const std::string& name) {
  static constexpr char kLearnerSql[] =
      "SELECT name FROM experiment_rows"
      " WHERE ?1 IN (json_extract(spec, '$.from'), json_extract(spec, '$.from.sweep'),"
      " json_extract(spec, '$.from.prior')) AND name <> ?1"
      " AND status IN ('RUNNING', 'INTERRUPTED') ORDER BY id LIMIT 1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kLearnerSql));
  row->BindAll(name);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  std::string learner = has_row ? std::string(row->Text(0)) : "";
  return learner;
}

Status CheckNobodyLearns(const std::string& learner, const std::string& name) {
  if (learner.empty()) return OkStatus();
  return InvalidArgument("nothing was deleted: " + Printable(learner) +
                         ", which is not finished, learns from " + Printable(name) +
                         " and could not go on without it; delete that one first");
}

// While a person was asked, it went, and another sweep may have got its name and its id.
Status GoneMeanwhile(const FoundSweep& sweep) {
  return NotFound("nothing was deleted: the sweep " + Printable(sweep.name) + " that began " +
                  FormatInstant(Instant{sweep.created_us}) + " is gone already");
}

// Before a head is asked, which knows it by its name.
Status CheckIsStillThere(const std::string& db_path, const FoundSweep& sweep) {
  static constexpr char kIsThereSql[] =
      "SELECT 1 FROM experiment_rows WHERE id = ?1 AND name = ?2 AND created_us = ?3";
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database->Kept(kIsThereSql));
  row->BindAll(sweep.id, sweep.name, sweep.created_us);
  TUNE_ASSIGN_OR_RETURN(const bool is_there, row->Step());
  return is_there ? OkStatus() : GoneMeanwhile(sweep);
}

Result<Doomed> FindDoomed(const DeleteOptions& options) {
  static constexpr char kCountSql[] = "SELECT count() FROM trials WHERE experiment = ?1";
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(options.db_path));
  if (options.name.empty()) return InvalidArgument("NAME: read '', expected the name of a sweep");
  Doomed doomed;
  TUNE_ASSIGN_OR_RETURN(doomed.sweep, FindSweep(*database, options.name));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database->Kept(kCountSql));
  row->BindAll(doomed.sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  if (has_row) doomed.trial_count = row->Int(0);
  TUNE_ASSIGN_OR_RETURN(doomed.learner, FindLearner(*database, doomed.sweep.name));
  TUNE_ASSIGN_OR_RETURN(doomed.storages, ReadStorages(*database, doomed.sweep.name));
  doomed.folder = ArtifactsDirOf(options.db_path) + "/" + doomed.sweep.name;
  doomed.folder_bytes = MeasureBytes(doomed.folder);
  return doomed;
}

std::string WhyNotNow(const LockHolder& holder, const std::string& name) {
  const std::string who = DescribeHolder(holder) + ", since " + FormatInstant(holder.since);
  if (holder.experiment == name) {
    return name + " is being run by " + who + "; end it first (tune stop " + name + ", or Ctrl-C)";
  }
  return "the database is held by " + who +
         (holder.experiment.empty() ? "" : ", which runs " + holder.experiment) +
         "; wait for its end, or end it first";
}

// Also writes down who did it. What was looked at before a person was asked is looked at again.
Status DeleteRows(const std::string& db_path, const FoundSweep& sweep, Instant now) {
  static constexpr char kRecordSql[] =
      "INSERT INTO change_rows (sweep, changed_us, change, by_name, by_role)"
      " VALUES (?1, ?2, ?3, ?4, ?5)";
  ControlRequest request;
  request.verb = ControlVerb::kDelete;
  request.sweep = sweep.name;
  request.by = AsksFor();
  const StoredChange change = ChangeOf(request, now);
  static constexpr char kDeleteSql[] =
      "DELETE FROM experiment_rows WHERE id = ?1 AND name = ?2 AND created_us = ?3";
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                        Database::Open(db_path, Access::kWrite));
  TUNE_RETURN_IF_ERROR(Migrate(*database));
  TUNE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*database));
  TUNE_ASSIGN_OR_RETURN(const std::string learner, FindLearner(*database, sweep.name));
  TUNE_RETURN_IF_ERROR(CheckNobodyLearns(learner, sweep.name));
  TUNE_RETURN_IF_ERROR(database->Run(kDeleteSql, sweep.id, sweep.name, sweep.created_us));
  if (database->change_count() != 1) return GoneMeanwhile(sweep);
  TUNE_RETURN_IF_ERROR(
      database->Run(kRecordSql, change.sweep, change.at.us, change.change, change.by, change.role));
  return transaction.Commit();
}

// The rows; returns the exit status, 0: they are gone. `held` is the writer's lock from then on.
int DeleteAtRest(const DeleteOptions& options, const Doomed& doomed, const Clock& clock,
                 std::optional<WriterLock>& held, std::ostream& err) {
  if (const Status s = MayChangeAlone(); !s.ok()) return Complain(s, err);
  Result<WriterLock> lock =
      AcquireWriterLock(options.db_path, clock.Now(), LockText::kIfThereIsRoom);
  if (!lock.ok()) return Complain(lock.status(), err);
  if (const Status s = SettleLock(options.db_path, *lock); !s.ok()) return Complain(s, err);
  if (const Status s = lock->Forget(); !s.ok()) return Complain(s.At("nothing was deleted"), err);
  if (const Status s = DeleteRows(options.db_path, doomed.sweep, clock.Now()); !s.ok()) {
    if (s.code() == StatusCode::kResourceExhausted || s.code() == StatusCode::kInternal) {
      err << "tune: " << s.message() << "\nnothing was deleted; that takes some room, which tune "
          << "gc may make\n";
      return 1;
    }
    return Complain(s, err);
  }
  held.emplace(*std::move(lock));
  return 0;
}

// The same by the head that holds the database, which also removes the folder.
int DeleteOnHead(const DeleteOptions& options, const LockHolder& head, const Doomed& doomed,
                 const Clock& clock, std::ostream& err) {
  constexpr Duration kPatience = Milliseconds(60'000);
  if (const Status s = CheckIsStillThere(options.db_path, doomed.sweep); !s.ok()) {
    return Complain(s, err);
  }
  ControlRequest request;
  request.verb = ControlVerb::kDelete;
  request.tuner = head.pid;
  request.sweep = doomed.sweep.name;
  const Result<ControlAnswer> answer =
      AskTuner(ArtifactsDirOf(options.db_path), request, clock, kPatience);
  if (!answer.ok()) return Complain(answer.status().At(DescribeHolder(head)), err);
  if (!answer->status.ok()) return Complain(answer->status, err);
  for (size_t i = 1; i < answer->lines.size(); ++i) err << "tune: " << answer->lines[i] << "\n";
  return answer->lines.size() > 1 ? 1 : 0;
}

// A head does that itself. The lock is held: a sweep that begins there meanwhile would lose what it
// has.
bool EmptyStorages(const DeleteOptions& options, const Doomed& doomed, std::ostream& err) {
  for (const SweepStorage& storage : doomed.storages) {
    const StopLater patience(kStoragePatience);
    const Status emptied = EmptyLeft(options.db_path, storage, patience.token());
    if (emptied.ok()) continue;
    err << "tune: the rows of " << Printable(doomed.sweep.name) << " are deleted, but "
        << emptied.message();
    if (emptied.code() != StatusCode::kFailedPrecondition) {
      err << "; tune gc goes on with it, or: aws s3 rm --recursive " << storage.root.ToUrl();
    }
    err << "\n";
    return false;
  }
  return true;
}

// The folder is set aside first: where the removal is cut off, tune gc knows what is left.
Status RemoveItsFolder(const DeleteOptions& options, const std::string& sweep) {
  TUNE_RETURN_IF_ERROR(CheckFolderIsOfSweep(options.db_path, sweep));
  TUNE_ASSIGN_OR_RETURN(const std::string aside,
                        SetDeletedAside(ArtifactsDirOf(options.db_path), sweep));
  return aside.empty() ? OkStatus() : RemoveFolder(aside, {});
}

// Its folder and storages. The writer's lock is held.
bool RemoveWhatItLeft(const DeleteOptions& options, const Doomed& doomed, std::ostream& err) {
  const Status removed = RemoveItsFolder(options, doomed.sweep.name);
  if (!removed.ok()) {
    err << "tune: the rows of " << Printable(doomed.sweep.name) << " are deleted, but "
        << removed.message() << "; tune gc tries again\n";
    return false;
  }
  RemoveEmptyArtifacts(options.db_path);
  return EmptyStorages(options, doomed, err);
}

bool IsYes(std::istream& in) {
  std::string answer;
  std::getline(in, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

int DeleteCommand(const DeleteOptions& options, const Clock& clock, std::istream& in,
                  std::ostream& out, std::ostream& err) {
  const Result<Doomed> doomed = FindDoomed(options);
  if (!doomed.ok()) return Complain(doomed.status(), err);
  const std::optional<LockHolder> holder = FindLockHolder(options.db_path);
  if (holder && !holder->is_head && !holder->is_brief()) {
    return Complain(Unavailable(WhyNotNow(*holder, doomed->sweep.name)), err);
  }
  if (const Status s = CheckNobodyLearns(doomed->learner, doomed->sweep.name); !s.ok()) {
    return Complain(s, err);
  }
  if (const Status s = CheckArtifactsAreOwn(options.db_path); !s.ok()) {
    return Complain(s.At("nothing was deleted"), err);
  }
  if (!options.yes) {
    if (!options.is_terminal) {
      return Complain(
          InvalidArgument("nothing was deleted: nobody can be asked; say --yes to delete " +
                          doomed->Describe()),
          err);
    }
    err << "delete " << doomed->Describe() << "? [y/N] " << std::flush;
    if (!IsYes(in)) {
      err << "nothing was deleted\n";
      return 0;
    }
  }
  const bool is_on_head = holder && holder->is_head;
  std::optional<WriterLock> lock;
  if (const int failed = is_on_head ? DeleteOnHead(options, *holder, *doomed, clock, err)
                                    : DeleteAtRest(options, *doomed, clock, lock, err)) {
    return failed;
  }
  if (!is_on_head && !RemoveWhatItLeft(options, *doomed, err)) return 1;
  const bool is_left_to_head = is_on_head && !doomed->storages.empty();
  out << "deleted "
      << (is_left_to_head ? doomed->DescribeHere() + "; the head removes what lies below " +
                                doomed->storages.front().root.ToUrl() + ", and its log says so"
                          : doomed->Describe())
      << "\n";
  return 0;
}

}  // namespace tune
