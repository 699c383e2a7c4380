#include "tuner/cli/keep/gc_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "trial_runner/bucket/stop_later.h"
#include "trial_runner/package/cache_trim.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/complain.h"
#include "tuner/sqlite/integrity.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// What a killed tuner leaves beside the database, or a killed command that only read it.
std::vector<RemovedGarbage> FindLeftovers(const std::string& db_path) {
  std::vector<RemovedGarbage> leftovers;
  for (const char* const ending : {".lock", "-wal", "-shm"}) {
    const std::string path = db_path + ending;
    if (!Exists(path)) continue;
    const bool is_lock = path.ends_with(".lock");
    leftovers.push_back({{path, is_lock ? "left by a tuner that was killed"
                                        : "left by a tuner, or a reader, that was killed"},
                         MeasureBytes(path),
                         {}});
  }
  return leftovers;
}

class Collection {
 public:
  Collection(const GcOptions& options, const Clock& clock, std::ostream& out, std::ostream& err)
      : options_(options), clock_(clock), out_(out), err_(err) {}

  int Run() {
    if (const auto database = OpenForQueries(options_.db_path); !database.ok()) {
      return Complain(database.status(), err_);
    }
    if (const Status s = CheckArtifactsAreOwn(options_.db_path); !s.ok()) {
      return Complain(s, err_);
    }
    tuner_ = FindLockHolder(options_.db_path);
    std::vector<RemovedGarbage> leftovers;
    if (!tuner_) leftovers = FindLeftovers(options_.db_path);
    if (options_.dry_run && !tuner_) {
      if (const Status s =
              CheckWhatIsThere(options_.db_path, false, FindCommitted(options_.db_path));
          !s.ok()) {
        return Complain(s, err_);
      }
    }
    std::optional<WriterLock> lock;
    if (!options_.dry_run && !tuner_) {
      // A full disk is when this is needed most.
      Result<WriterLock> acquired =
          AcquireWriterLock(options_.db_path, clock_.Now(), LockText::kIfThereIsRoom);
      if (!acquired.ok()) return Complain(acquired.status(), err_);
      if (const Status s = SettleLock(options_.db_path, *acquired); !s.ok())
        return Complain(s, err_);
      lock.emplace(*std::move(acquired));
    }
    if (tuner_ && !Announce()) return 1;
    std::vector<RemovedGarbage> in_buckets;
    const Result<IsElsewhere> is_elsewhere = LookInBuckets(in_buckets);
    if (!is_elsewhere.ok()) return Complain(is_elsewhere.status(), err_);
    const Result<GarbageOnDisk> garbage =
        FindGarbageOf(options_.db_path, "", tuner_, clock_.Now(), *is_elsewhere);
    if (!garbage.ok()) return Complain(garbage.status(), err_);
    std::vector<RemovedGarbage> removed =
        RemoveGarbage(options_.db_path, *garbage, options_.dry_run);
    if (lock) RemoveEmptyArtifacts(options_.db_path);
    for (RemovedGarbage& item : removed) {
      item.garbage.path = ArtifactsDirOf(options_.db_path) + "/" + item.garbage.path;
    }
    removed.insert(removed.end(), in_buckets.begin(), in_buckets.end());
    Status folded;
    const std::string wal = options_.db_path + "-wal";
    const bool has_work = options_.vacuum || MeasureBytes(wal) > 0;
    if (lock && (has_work || Exists(wal))) folded = FoldBack();
    // On a disk that is still full an empty one stays, and does no harm.
    if (!has_work) folded = OkStatus();
    for (const RemovedGarbage& item : leftovers) {
      // A reader that has the database open keeps its files; the lock's goes with the lock.
      const bool goes = options_.dry_run || item.garbage.path.ends_with(".lock");
      if (goes || !Exists(item.garbage.path)) removed.push_back(item);
    }
    for (TrimmedPath& trimmed :
         TrimCache(options_.cache, options_.cache_budget_bytes, clock_.Now(), options_.dry_run)) {
      removed.push_back({{std::move(trimmed.path), std::move(trimmed.reason)}, trimmed.bytes, {}});
    }
    const bool is_whole = Print(removed);
    if (!folded.ok()) return Complain(folded, err_);
    return is_whole ? 0 : 1;
  }

 private:
  // Removes what nobody needs in object stores. A copy on this disk may go where the store has the
  // checkpoint whole, and nobody goes on from the copy. A store that is away is told of.
  Result<IsElsewhere> LookInBuckets(std::vector<RemovedGarbage>& removed) {
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                          OpenForQueries(options_.db_path));
    TUNE_ASSIGN_OR_RETURN(const std::vector<SweepStorage> storages, ReadStorages(*database));
    std::vector<IsElsewhere> wholes;
    for (const SweepStorage& storage : storages) {
      const StopLater patience(kStoragePatience);
      const Result<CleanedStorage> cleaned = CleanUpStorage(
          options_.db_path, storage, tuner_, clock_.Now(), options_.dry_run, patience.token());
      if (!cleaned.ok()) {
        removed.push_back({{storage.root.ToUrl(), ""}, 0, cleaned.status()});
        continue;
      }
      removed.insert(removed.end(), cleaned->removed.begin(), cleaned->removed.end());
      if (!tuner_) wholes.push_back(IsWholeIn(storage, cleaned->list));
    }
    if (!tuner_) TUNE_RETURN_IF_ERROR(EmptyAllLeft(*database, removed));
    return IsElsewhere([wholes = std::move(wholes)](const std::string& path) {
      return std::any_of(wholes.begin(), wholes.end(),
                         [&path](const IsElsewhere& is_whole) { return is_whole(path); });
    });
  }

  // What deletes that were cut off have left; a head goes on with its own.
  Status EmptyAllLeft(Database& database, std::vector<RemovedGarbage>& removed) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<SweepStorage> left, ReadLeft(database));
    for (const SweepStorage& storage : left) {
      const StopLater patience(kStoragePatience);
      const Result<int64_t> bytes = MeasureStorage(storage, patience.token());
      Status emptied = bytes.status();
      if (emptied.ok() && !options_.dry_run) {
        emptied = EmptyLeft(options_.db_path, storage, patience.token());
      }
      if (emptied.ok() && *bytes == 0) continue;
      removed.push_back({{storage.root.ToUrl(), "of a sweep that was deleted"},
                         bytes.ok() ? *bytes : 0,
                         std::move(emptied)});
    }
    return OkStatus();
  }

  // The last connection folds the WAL back and removes it when it closes.
  Status FoldBack() {
    TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Database> database,
                          Database::Open(options_.db_path, Access::kWrite));
    if (!options_.vacuum) return database->QueryInt("PRAGMA user_version").status();
    const int64_t before = MeasureBytes(options_.db_path);
    TUNE_RETURN_IF_ERROR(database->Execute("VACUUM"));
    database.reset();
    err_ << "packed " << options_.db_path << ": " << FormatBytes(before) << " before, "
         << FormatBytes(MeasureBytes(options_.db_path)) << " now\n";
    return OkStatus();
  }

  // Who holds the database, and what that means; false: nothing can be done.
  bool Announce() {
    const std::string who = DescribeHolder(*tuner_) + " holds " + options_.db_path;
    if (options_.vacuum && !options_.dry_run) {
      err_ << "tune: " << who << "; --vacuum needs it to have ended\n";
      return false;
    }
    err_ << who << ": of "
         << (tuner_->is_head              ? "its sweeps"
             : tuner_->experiment.empty() ? "its sweep"
                                          : tuner_->experiment)
         << " only ended trials are looked at\n";
    return true;
  }

  bool Print(const std::vector<RemovedGarbage>& removed) {
    RowPrinter printer(options_.format, options_.width, out_);
    int64_t bytes = 0;
    int64_t count = 0;
    const bool is_table = options_.format == OutputFormat::kTable;
    if (!is_table || !removed.empty()) {
      printer.Begin({"path", "bytes", "reason"});
      for (const RemovedGarbage& item : removed) {
        if (!item.status.ok()) continue;
        printer.Row({item.garbage.path, item.bytes, item.garbage.reason});
        bytes += item.bytes;
        ++count;
      }
      printer.End();
    }
    for (const RemovedGarbage& item : removed) {
      if (!item.status.ok()) err_ << "tune: " << item.status.message() << "\n";
    }
    err_ << (options_.dry_run ? "would free " : "freed ") << FormatBytes(bytes) << " in " << count
         << (count == 1 ? " place\n" : " places\n");
    return count == static_cast<int64_t>(removed.size());
  }

  const GcOptions& options_;
  const Clock& clock_;
  std::ostream& out_;
  std::ostream& err_;
  std::optional<LockHolder> tuner_;
};

}  // namespace

int GcCommand(const GcOptions& options, const Clock& clock, std::ostream& out, std::ostream& err) {
  return Collection(options, clock, out, err).Run();
}

}  // namespace tune
