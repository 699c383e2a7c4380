#include "trial_runner/command/setup_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/hash.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/folder_lock.h"
#include "core/posix/host_name.h"
#include "core/posix/kept_folders.h"
#include "core/posix/plain_file.h"
#include "core/posix/private_folder.h"
#include "core/remove_tree.h"
#include "trial_runner/package/packed_folder.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMarkBytesMax = 100;
constexpr char kMarkFile[] = "/done";
constexpr char kKeeperFile[] = "/kept";  // Of one that a single sweep can use.
constexpr char kMadeHere[] = "here ", kMadeThere[] = "there ";

bool Says(const std::string& file, const std::string& mark) {
  const Result<std::string> text = ReadFile(file, kMarkBytesMax);
  return text.ok() && *text == mark;
}

bool BeginsWith(const std::string& file, const std::string& mark) {
  const Result<std::string> text = ReadFile(file, kMarkBytesMax);
  return text.ok() && text->starts_with(mark);
}

// Tells the folder from one that was made later at the same path. A file system may use an inode
// again; where it does not tell when a folder was made, the two may look alike.
std::string IdentityOf(const std::string& folder) {
  struct statx info = {};
  if (statx(AT_FDCWD, folder.c_str(), 0, STATX_INO | STATX_BTIME, &info) != 0) return "none";
  std::string identity = std::to_string(info.stx_ino);
  if ((info.stx_mask & STATX_BTIME) != 0) {
    identity +=
        " " + std::to_string(info.stx_btime.tv_sec) + "." + std::to_string(info.stx_btime.tv_nsec);
  }
  return identity;
}

// A command may not bear what it has made by half: git clone, mkdir. What cannot be removed stays.
void Empty(const std::string& folder) {
  std::error_code ignored;
  std::vector<fs::path> left;
  for (fs::directory_iterator top(folder, ignored), end; top != end; top.increment(ignored)) {
    left.push_back(top->path());
  }
  for (const fs::path& path : left) RemoveTree(path, ignored);
}

// What a setup made is of many programs, none of which syncs its files.
Status SyncFileSystemOf(const std::string& path) {
  const FileDescriptor there(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!there.is_open() && errno == ENOENT) return OkStatus();  // The setup has removed it.
  if (!there.is_open() || syncfs(there.get()) != 0) return ErrnoStatus("sync", path);
  return OkStatus();
}

}  // namespace

SetupPlace::SetupPlace(const TrialStart& start, const std::vector<std::string>& commands,
                       const std::string& folder, const std::string& search_path)
    : working_folder_(folder), content_(start.place.content) {
  const std::string host = HostName();
  const Value* const environment = start.trainable.Find("env");
  // What could stand in one of them for the next is kept apart by JSON.
  Value all = Value::MakeList();
  for (const std::string& text : {host, folder, content_, search_path})
    all.AsList().emplace_back(text);
  if (environment != nullptr) all.AsList().push_back(*environment);
  for (const std::string& command : commands) all.AsList().emplace_back(command);
  mark_ = HashToHex(Xxh64(ToJson(all)));

  const std::string sweep_folder = fs::path(start.artifact_dir).parent_path();
  const bool may_share = !start.place.cache.empty() && !content_.empty();
  if (may_share) shared_folder_ = start.place.cache + "/setup/" + mark_;
  own_folder_ = sweep_folder + "/setup-" + host;
  sweep_mark_file_ = own_folder_ + ".done";
  whose_ = HashToHex(Xxh64(sweep_folder));
  Choose();
}

void SetupPlace::Choose() {
  is_shared_ = !shared_folder_.empty() && !IsKeptByAnother() &&
               !BeginsWith(sweep_mark_file_, kMadeHere + mark_);
  folder_ = is_shared_ ? shared_folder_ : own_folder_;
}

bool SetupPlace::IsKeptByAnother() const {
  const Result<std::string> keeper = ReadFile(shared_folder_ + kKeeperFile, kMarkBytesMax);
  return keeper.ok() && *keeper != whose_;
}

Result<SetupPlace::Claim> SetupPlace::Ask() {
  while (true) {
    Choose();
    if (is_shared_) TUNE_RETURN_IF_ERROR(MakePrivateFolder(fs::path(folder_).parent_path()));
    TUNE_RETURN_IF_ERROR(MakeFolder(folder_));
    std::error_code error;
    // A setup may put a link in its place, which nobody removes.
    const bool is_link = fs::is_symlink(fs::symlink_status(folder_, error));
    if (IsMarked()) {
      if (is_link) return Claim{Turn::kMade, FileDescriptor()};
      TUNE_ASSIGN_OR_RETURN(std::optional<FileDescriptor> hold, HoldFolder(folder_));
      if (hold && IsMarked()) return Claim{Turn::kMade, *std::move(hold)};
      return Claim{};  // It is being removed, or was just made.
    }
    FileDescriptor lock(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock.is_open() && errno != ENOENT) return ErrnoStatus("open", folder_);
    if (!lock.is_open()) continue;
    const FolderLock is_locked = LockFolder(lock, LOCK_EX);
    if (is_locked == FolderLock::kTheirs) return Claim{};
    if (IsMarked() || (!is_link && !IsFolderAt(lock, folder_))) continue;
    if (is_shared_ && IsKeptByAnother()) continue;  // Since it was looked at.
    // Without locks another one may be at work in it.
    if (is_locked == FolderLock::kOurs && !is_link) Empty(folder_);
    return Claim{Turn::kToMake, std::move(lock)};
  }
}

Status SetupPlace::Finish(Claim& claim) const {
  TUNE_RETURN_IF_ERROR(Mark());
  (void)LockFolder(claim.hold, LOCK_SH);  // The others may have it too.
  if (is_shared_) {
    RemoveLeastUsedFolders(fs::path(folder_).parent_path(), limits::kPackagesKeptMax);
  }
  claim.turn = Turn::kMade;
  return OkStatus();
}

// What the mark in the sweep's folder says: also which folder it speaks of, where there are two,
// and that it is the very one that the setup has seen.
std::string SetupPlace::SweepMark() const {
  const std::string where = shared_folder_.empty() ? "" : is_shared_ ? kMadeThere : kMadeHere;
  return where + mark_ + " " +
         HashToHex(Xxh64(IdentityOf(working_folder_) + "\n" + IdentityOf(folder_)));
}

// A shared folder may be removed, or emptied by another setup, and what it says of itself with it.
bool SetupPlace::IsMarked() const {
  if (is_shared_ && Says(folder_ + kMarkFile, mark_)) return true;
  const bool is_kept = !is_shared_ || Says(folder_ + kKeeperFile, whose_);
  return is_kept && Says(sweep_mark_file_, SweepMark());
}

// Else the mark could outlive a loss of power, and what it stands for could not.
Status SetupPlace::Mark() const {
  for (const std::string& made : {folder_, working_folder_}) {
    TUNE_RETURN_IF_ERROR(SyncFileSystemOf(made));
  }
  if (is_shared_) {
    const Result<PackageName> now = NameFolder(working_folder_, limits::kPackageBytesMax);
    if (now.ok() && now->sha256 == content_) return WriteFileSynced(folder_ + kMarkFile, mark_);
    TUNE_RETURN_IF_ERROR(WriteFileSynced(folder_ + kKeeperFile, whose_));
  }
  return WriteFileSynced(sweep_mark_file_, SweepMark());
}

}  // namespace tune
