#include "tuner/export/export_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/posix/durable_file.h"
#include "core/posix/folder_lock.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

// In each partial folder, from its making on.
constexpr char kMark[] = ".tune-export";

Status CheckTarget(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return OkStatus();
  if (fs::is_directory(fs::symlink_status(folder, error)) && fs::is_empty(folder, error)) {
    return OkStatus();
  }
  return InvalidArgument(folder +
                         ": is there already and is not an empty folder; name another one");
}

// Whatever else lies in the place of the partial folder is a person's.
Status CheckIsLeftByExport(const std::string& partial) {
  std::error_code error;
  const fs::path mark = fs::path(partial) / kMark;
  if (fs::is_empty(partial, error) || fs::exists(fs::symlink_status(mark, error))) {
    return OkStatus();
  }
  return InvalidArgument(partial +
                         ": is there already and is not what an export left; rename it, or name "
                         "another folder");
}

// The mark first, so that what is left at any moment is known for an export's.
Status MarkAndEmpty(const std::string& partial) {
  const std::string mark = partial + "/" + kMark;
  if (!FileDescriptor(open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666))
           .is_open()) {
    return ErrnoStatus("create", mark);
  }
  std::error_code error;
  fs::directory_iterator it(partial, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (it->path().filename() == kMark) continue;
    std::error_code failed;
    fs::remove_all(it->path(), failed);
    if (failed) {
      return InvalidArgument("cannot remove " + it->path().string() + ": " + failed.message());
    }
  }
  return error ? InvalidArgument("cannot read " + partial + ": " + error.message()) : OkStatus();
}

}  // namespace

Result<ExportFolder> ExportFolder::Begin(const std::string& folder) {
  std::error_code error;
  fs::path target = fs::absolute(folder, error).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "out/" is "out".
  if (folder.empty() || !target.has_filename()) {
    return InvalidArgument("'" + folder + "': expected the path of a folder to make");
  }
  TUNE_RETURN_IF_ERROR(CheckTarget(target.string()));
  fs::create_directories(target.parent_path(), error);
  if (error) return InvalidArgument(folder + ": cannot be made: " + error.message());
  const std::string partial = target.string() + ".partial";
  if (mkdir(partial.c_str(), 0777) != 0 && errno != EEXIST) {
    const Status status = ErrnoStatus("make", partial);
    return status.code() == StatusCode::kResourceExhausted ? status
                                                           : InvalidArgument(status.message());
  }
  FileDescriptor lock = OpenFolder(partial);
  if (!lock.is_open()) return InvalidArgument(ErrnoStatus("open", partial).message());
  if (LockFolder(lock, LOCK_EX) == FolderLock::kTheirs || !IsFolderAt(lock, partial)) {
    return InvalidArgument(partial + ": another export is being written there");
  }
  TUNE_RETURN_IF_ERROR(CheckIsLeftByExport(partial));
  ExportFolder begun(target.string(), partial, std::move(lock));
  TUNE_RETURN_IF_ERROR(MarkAndEmpty(partial));
  return begun;
}

ExportFolder::~ExportFolder() {
  if (partial_.empty()) return;
  std::error_code error;
  fs::remove_all(partial_, error);
}

Status ExportFolder::Commit() {
  if (syncfs(lock_.get()) != 0) return ErrnoStatus("write", partial_);
  // An empty folder of that name is replaced; one that was filled meanwhile is not.
  if (std::rename(partial_.c_str(), folder_.c_str()) != 0) {
    return ErrnoStatus("make " + folder_ + " from", partial_);
  }
  partial_.clear();
  (void)unlink((folder_ + "/" + kMark).c_str());
  return SyncFolder(fs::path(folder_).parent_path().string());
}

}  // namespace tune
