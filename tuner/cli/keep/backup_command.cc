#include "tuner/cli/keep/backup_command.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/posix/durable_file.h"
#include "core/posix/folder_lock.h"
#include "core/posix/link_path.h"
#include "core/utf8.h"
#include "trial_runner/checkpoint_name.h"
#include "trial_runner/package/kept_package.h"
#include "trial_runner/package/trial_files.h"
#include "trial_runner/s3_address.h"
#include "tuner/artifact_garbage.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/look/checkpoint_on_disk.h"
#include "tuner/cli/look/stored_checkpoint.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/provenance.h"
#include "tuner/sqlite/artifact_rows.h"
#include "tuner/sqlite/integrity.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr int kRoundsMax = 20;  // Each copies only what the one before had not.
constexpr char kPartial[] = ".partial";
// In the folder that is on its way: the name of FILE. It goes last.
constexpr char kMark[] = "/.tune-backup";
constexpr uint64_t kMarkBytesMax = 4'096;
constexpr char kTunerLog[] = "tuner.log";  // Not copied: workers join with what stands in it.

// A durable row of the copy.
struct Wanted : DurableCheckpoint {
  // Below the artifacts folder; empty: it never lay there.
  std::string Within() const {
    const auto within = WithinTrialFolder(path, sweep, trial);
    return within ? sweep + "/" + std::to_string(trial) + "/" + *within : "";
  }
  auto Key() const { return std::tie(trial_id, iteration, path); }
  friend bool operator<(const Wanted& a, const Wanted& b) { return a.Key() < b.Key(); }
};

Status FromError(const std::string& path, const std::error_code& error) {
  const std::string words = path + ": cannot be written: " + error.message();
  return error == std::errc::no_space_on_device ? ResourceExhausted(words) : Internal(words);
}

class Backup {
 public:
  Backup(const BackupOptions& options, std::ostream& err)
      : options_(options),
        err_(err),
        source_dir_(ArtifactsDirOf(options.db_path)),
        target_dir_(ArtifactsDirOf(FollowLinks(options.file))),
        partial_(options.file + kPartial),
        partial_dir_(target_dir_ + kPartial) {}

  // What can be known before anything is made.
  Status Check() const {
    std::error_code error;
    if (options_.file.empty()) return InvalidArgument("FILE: read '', expected the copy's path");
    const fs::path folder = fs::absolute(options_.file).parent_path();
    if (!fs::is_directory(folder, error)) {
      return InvalidArgument(options_.file + ": the folder " + folder.string() +
                             " does not exist; make it with mkdir -p");
    }
    if (fs::exists(fs::symlink_status(options_.file, error))) {
      return InvalidArgument(options_.file + ": is there already; name another file");
    }
    if (target_dir_ == source_dir_) {
      return InvalidArgument(options_.file + ": its artifacts would be those of " +
                             options_.db_path + " (" + source_dir_ +
                             "); choose a name that differs before its ending");
    }
    if (fs::exists(fs::symlink_status(target_dir_, error)) && !IsHalfNamed()) {
      return InvalidArgument(target_dir_ + ": is there already; name another file");
    }
    return OkStatus();
  }

  Status Run() {
    TUNE_RETURN_IF_ERROR(TakeBackHalfNamed());
    TUNE_RETURN_IF_ERROR(TakePartial());
    const Status status = CopyAll();
    if (!status.ok()) RemovePartial();
    return status;
  }

  std::string Describe() const {
    const std::string database = options_.file + ": " + FormatBytes(MeasureBytes(options_.file));
    std::error_code error;
    if (!fs::exists(target_dir_, error)) return database + ", no artifacts";
    return database + "; " + std::to_string(copied_.size()) +
           (copied_.size() == 1 ? " checkpoint" : " checkpoints") + " and the trials' files in " +
           target_dir_ + ", " + FormatBytes(MeasureBytes(target_dir_));
  }

 private:
  std::string NameOfFile() const { return fs::path(options_.file).filename().string(); }

  // Where FILE is not there: whether a backup to it was killed when its folder had its name and
  // FILE did not.
  bool IsHalfNamed() const {
    const Result<std::string> mark = ReadFile(target_dir_ + kMark, kMarkBytesMax);
    return mark.ok() && *mark == NameOfFile();
  }

  // Such a folder is a partial one again.
  Status TakeBackHalfNamed() const {
    if (!IsHalfNamed()) return OkStatus();
    const FileDescriptor folder = OpenFolder(target_dir_);
    if (!folder.is_open()) return ErrnoStatus("open", target_dir_);
    if (LockFolder(folder, LOCK_EX) == FolderLock::kTheirs) {
      return InvalidArgument(target_dir_ + ": another backup is being written there");
    }
    TUNE_RETURN_IF_ERROR(Check());  // That backup may have ended just now.
    return IsHalfNamed() ? Rename(target_dir_, partial_dir_) : OkStatus();
  }

  // The folder is made first, locked, and removed last. What lies in an unlocked one is what a
  // killed backup left.
  Status TakePartial() {
    const bool is_new = mkdir(partial_dir_.c_str(), 0777) == 0;
    if (!is_new && errno != EEXIST) {
      return FromError(partial_dir_, std::error_code(errno, std::generic_category()));
    }
    lock_ = OpenFolder(partial_dir_);
    if (!lock_.is_open()) return ErrnoStatus("open", partial_dir_);
    if (LockFolder(lock_, LOCK_EX) == FolderLock::kTheirs || !IsFolderAt(lock_, partial_dir_)) {
      return InvalidArgument(partial_dir_ + ": another backup is being written there");
    }
    const Status cleared = Clear(is_new);
    if (!cleared.ok()) rmdir(partial_dir_.c_str());  // Where it is empty.
    return cleared;
  }

  Status Clear(bool is_new) const {
    TUNE_RETURN_IF_ERROR(Check());  // Another may have ended just now.
    std::error_code error;
    const bool has_database = fs::exists(fs::symlink_status(partial_, error));
    const bool is_marked = fs::exists(partial_dir_ + kMark, error);
    if (!is_new && !is_marked && !fs::is_empty(partial_dir_, error)) {
      return InvalidArgument(partial_dir_ +
                             ": holds what no backup left; remove it, or name another file");
    }
    if (is_new && has_database) {  // No backup's: it would have left the folder, too.
      return InvalidArgument(partial_ + ": is there already; remove it, or name another file");
    }
    TUNE_RETURN_IF_ERROR(RemovePartialDatabase());
    fs::directory_iterator it(partial_dir_, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      std::error_code failed;
      if (it->path().string() != partial_dir_ + kMark) fs::remove_all(it->path(), failed);
      if (failed) return FromError(it->path(), failed);
    }
    if (error) return FromError(partial_dir_, error);
    return WriteFileSynced(partial_dir_ + kMark, NameOfFile());
  }

  // Nothing, once the folder has its name: another backup may have taken the partial one since.
  void RemovePartial() const {
    if (!IsFolderAt(lock_, partial_dir_)) return;
    (void)RemovePartialDatabase();
    std::error_code ignored;
    fs::remove_all(partial_dir_, ignored);
  }

  Status RemovePartialDatabase() const {
    for (const char* const ending : {"", "-journal", "-wal", "-shm"}) {
      std::error_code error;
      fs::remove_all(partial_ + ending, error);
      if (error) return FromError(partial_ + ending, error);
    }
    return OkStatus();
  }

  Status CopyAll() {
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> source, OpenForQueries(options_.db_path));
    std::set<Wanted> missing;
    for (int round = 0; round < kRoundsMax; ++round) {
      const std::set<Wanted> missing_before = std::exchange(missing, {});
      std::error_code ignored;
      fs::remove(partial_, ignored);
      TUNE_RETURN_IF_ERROR(source->CopyTo(partial_));
      if (options_.between) options_.between();
      TUNE_RETURN_IF_ERROR(CopyMissing(missing));
      // A row is no longer durable before its folder goes. One that is durable in a later state,
      // and was missing before, has lost its folder for another reason.
      const bool is_settled = std::all_of(
          missing.begin(), missing.end(),
          [&missing_before](const Wanted& one) { return missing_before.contains(one); });
      if (is_settled) break;
    }
    TUNE_RETURN_IF_ERROR(CheckWhatIsThere(partial_, /*looks_at_pages=*/true, std::nullopt)
                             .At("what was copied of " + options_.db_path));
    TUNE_RETURN_IF_ERROR(MarkGone(missing));
    TUNE_RETURN_IF_ERROR(CopyFiles());
    TUNE_RETURN_IF_ERROR(CopyPackages());
    return Publish();
  }

  // Copies what the present state of the copy calls durable and is not copied yet, and removes what
  // it does not any longer.
  Status CopyMissing(std::set<Wanted>& missing) {
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> copy,
                          Database::Open(partial_, Access::kWrite));
    TUNE_ASSIGN_OR_RETURN(const auto durable, ReadDurableCheckpoints(*copy));
    std::set<std::string> needed;
    for (const DurableCheckpoint& row : durable) {
      const Wanted one{row};
      const std::string within = one.Within();
      if (within.empty()) continue;
      needed.insert(within);
      TUNE_ASSIGN_OR_RETURN(const bool is_whole, CopyOne(one, within));
      if (!is_whole) missing.insert(one);
    }
    std::erase_if(copied_, [&](const auto& entry) {
      if (needed.contains(entry.first)) return false;
      std::error_code ignored;
      fs::remove_all(partial_dir_ + "/" + entry.first, ignored);
      return true;
    });
    return OkStatus();
  }

  // False: it is not (or no longer) there as the row says. What there is of it is copied all the
  // same.
  Result<bool> CopyOne(const Wanted& one, const std::string& within) {
    if (const auto found = copied_.find(within);
        found != copied_.end() && found->second == one.checksum) {
      return true;
    }
    const std::string from = FindArtifact(one.path, options_.db_path, one.sweep, one.trial);
    const std::string to = partial_dir_ + "/" + within;
    std::error_code error;
    fs::remove_all(to, error);
    if (IsS3Url(from)) {
      const fs::path there(to);
      const Status brought =
          BringStored(from, there.parent_path().string(), there.filename().string());
      const bool is_gone =
          brought.code() == StatusCode::kNotFound || brought.code() == StatusCode::kDataLoss;
      if (is_gone) return false;
      TUNE_RETURN_IF_ERROR(brought);
      copied_[within] = one.checksum;
      return true;
    }
    if (!fs::exists(from, error)) return false;
    fs::create_directories(fs::path(to).parent_path(), error);
    if (error) return FromError(to, error);
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    const bool has_vanished = error == std::errc::no_such_file_or_directory;
    if (error && !has_vanished) return FromError(to, error);
    if (has_vanished ||
        LookAtCheckpoint(to, one.bytes, one.checksum).state != CheckpointOnDisk::kWhole) {
      return false;
    }
    copied_[within] = one.checksum;
    return true;
  }

  // Rows whose folders were lost before this backup: a resume must not look for them.
  Status MarkGone(const std::set<Wanted>& missing) {
    static constexpr char kMarkSql[] =
        "UPDATE checkpoint_rows SET state = ?4 WHERE trial = ?1 AND iteration = ?2 AND path = ?3";
    if (missing.empty()) return OkStatus();
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> copy,
                          Database::Open(partial_, Access::kWrite));
    TUNE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*copy));
    for (const Wanted& one : missing) {
      std::error_code ignored;
      const bool is_there = fs::exists(partial_dir_ + "/" + one.Within(), ignored);
      const char* const state = is_there ? "corrupt" : "removed";
      TUNE_RETURN_IF_ERROR(copy->Run(kMarkSql, one.trial_id, one.iteration, one.path, state));
      const std::string gone = IsS3Url(one.path) ? " is not whole in the object store any more"
                                                 : " is not on disk any more";
      err_ << "warning: the checkpoint of " << Printable(one.sweep) << "/" << one.trial
           << " at iteration " << one.iteration << (is_there ? " is not as it was reported" : gone)
           << "; the copy calls it " << state << "\n";
    }
    return transaction.Commit();
  }

  // The logs, and what programs left in their trials' folders, as it is at this moment: programs
  // that run go on writing there.
  Status CopyFiles() {
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> copy, OpenForQueries(partial_));
    TUNE_ASSIGN_OR_RETURN(const std::vector<FoundSweep> sweeps, ListSweeps(*copy));
    for (const FoundSweep& sweep : sweeps) {
      TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(sweep.name));
      for (const std::string& name : names) {
        const std::string within = sweep.name + "/" + name;
        std::error_code ignored;
        const bool is_folder = fs::is_directory(fs::symlink_status(PathOf(within), ignored));
        if (is_folder && TrialNumberOf(name)) TUNE_RETURN_IF_ERROR(CopyFilesOfTrial(within));
        // The tuner's own says how workers join.
        const bool is_log = !is_folder && name.ends_with(".log") && name != kTunerLog;
        if (is_log) TUNE_RETURN_IF_ERROR(Copy(within));
      }
    }
    return OkStatus();
  }

  Status CopyFilesOfTrial(const std::string& folder) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
    for (const std::string& name : names) {
      const bool is_left_out =
          IsOwnCheckpointAt(PathOf(folder + "/" + name)) || name.starts_with(kTrialFilesIncoming);
      if (!is_left_out) TUNE_RETURN_IF_ERROR(Copy(folder + "/" + name));
    }
    return OkStatus();
  }

  // A file, a link or a folder with all that is in it. Sockets and the like are passed over.
  Status Copy(const std::string& within) {
    if (copied_.contains(within)) return OkStatus();
    const std::string from = PathOf(within);
    const fs::path to = partial_dir_ + "/" + within;
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    if (error) return FromError(to, error);
    const fs::file_status status = fs::symlink_status(from, error);
    if (fs::is_symlink(status)) {
      fs::copy_symlink(from, to, error);
    } else if (fs::is_regular_file(status)) {
      fs::copy_file(from, to, fs::copy_options::skip_existing, error);
    } else if (fs::is_directory(status)) {
      fs::create_directory(to, error);
      if (error) return FromError(to, error);
      TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(within));
      for (const std::string& name : names) TUNE_RETURN_IF_ERROR(Copy(within + "/" + name));
      return OkStatus();
    }
    return Judged(within, error);
  }

  // What is in a folder of the artifacts.
  Result<std::vector<std::string>> NamesIn(const std::string& within) {
    std::vector<std::string> names;
    std::error_code error;
    fs::directory_iterator it(PathOf(within), error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      names.push_back(it->path().filename().string());
    }
    TUNE_RETURN_IF_ERROR(Judged(within, error));
    return names;
  }

  // A file that is gone by now, or came with a checkpoint, is no error. One that this user may not
  // read is left out with a warning.
  Status Judged(const std::string& within, const std::error_code& error) {
    const bool is_gone = error == std::errc::no_such_file_or_directory;
    if (!error || is_gone || error == std::errc::file_exists) return OkStatus();
    if (error != std::errc::permission_denied) {
      return FromError(partial_dir_ + "/" + within, error);
    }
    err_ << "warning: " << Printable(PathOf(within)) << " is not in the copy: " << error.message()
         << "\n";
    return OkStatus();
  }

  std::string PathOf(const std::string& within) const { return source_dir_ + "/" + within; }

  // The folders that came with sweeps from other machines. Without its own a sweep cannot go on.
  Status CopyPackages() {
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> copy, OpenForQueries(partial_));
    TUNE_ASSIGN_OR_RETURN(const KeptStatement row,
                          copy->Kept("SELECT provenance FROM experiments"));
    for (;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
      if (!has_row) return OkStatus();
      const Result<Provenance> provenance = DecodeProvenance(row->Text(0));
      if (!provenance.ok() || provenance->package.sha256.empty()) continue;
      const std::string within = std::string(kPackagesFolder) + "/" + provenance->package.sha256;
      const auto kept = FindKeptPackage(PathOf(kPackagesFolder), provenance->package);
      if (!kept.ok()) continue;  // A head keeps only the latest of sweeps that are over.
      TUNE_RETURN_IF_ERROR(KeepPackage(**kept, partial_dir_ + "/" + kPackagesFolder));
      // A head goes by it when it removes all but those that were used last.
      std::error_code ignored;
      fs::last_write_time(partial_dir_ + "/" + within, fs::last_write_time(PathOf(within), ignored),
                          ignored);
    }
  }

  // Where it cannot be looked at: yes.
  bool HasArtifacts() const {
    std::error_code error;
    fs::directory_iterator it(partial_dir_, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      if (it->path() != partial_dir_ + kMark) return true;
    }
    return static_cast<bool>(error);
  }

  // The database last: where it is, all is.
  Status Publish() const {
    const FileDescriptor fd(open(partial_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.is_open() || syncfs(fd.get()) != 0) return ErrnoStatus("sync", partial_);
    std::error_code error;
    const bool has_artifacts = HasArtifacts();
    if (has_artifacts) TUNE_RETURN_IF_ERROR(Rename(partial_dir_, target_dir_));
    const Status named = Rename(partial_, options_.file);
    if (!named.ok() && has_artifacts) {
      (void)RemovePartialDatabase();  // While the folder is there no other backup begins.
      fs::remove_all(target_dir_, error);
    }
    TUNE_RETURN_IF_ERROR(named);
    fs::remove((has_artifacts ? target_dir_ : partial_dir_) + kMark, error);
    if (!has_artifacts) fs::remove(partial_dir_, error);
    return SyncFolder(fs::absolute(options_.file).parent_path().string());
  }

  // Replaces nothing, also what came since Check.
  static Status Rename(const std::string& from, const std::string& to) {
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
      return OkStatus();
    }
    if (errno == EEXIST) return InvalidArgument(to + ": is there already; name another file");
    return ErrnoStatus("name", to);
  }

  const BackupOptions& options_;
  std::ostream& err_;
  const std::string source_dir_;
  const std::string target_dir_;
  const std::string partial_;
  const std::string partial_dir_;
  FileDescriptor lock_;                        // On the partial folder.
  std::map<std::string, std::string> copied_;  // Path below the artifacts, to checksum.
};

}  // namespace

int BackupCommand(const BackupOptions& options, std::ostream& out, std::ostream& err) {
  if (const auto database = OpenForQueries(options.db_path); !database.ok()) {
    return Complain(database.status(), err);
  }
  Backup backup(options, err);
  if (const Status s = backup.Check(); !s.ok()) return Complain(s, err);
  if (const Status s = backup.Run(); !s.ok()) return Complain(s, err);
  out << backup.Describe() << "\n";
  return 0;
}

}  // namespace tune
