#include "tuner/export/export_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/posix/durable_file.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

Status CheckTarget(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return OkStatus();
  if (fs::is_directory(fs::symlink_status(folder, error)) && fs::is_empty(folder, error)) {
    return OkStatus();
  }
  return InvalidArgument(folder +
                         ": is there already and is not an empty folder; name another one");
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
  FileDescriptor lock(open(partial.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.is_open()) return InvalidArgument(ErrnoStatus("open", partial).message());
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return InvalidArgument(partial + ": another export is being written there");
  }
  for (const fs::directory_entry& left : fs::directory_iterator(partial, error)) {
    fs::remove_all(left.path(), error);
  }
  return ExportFolder(target.string(), partial, std::move(lock));
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
  return SyncFolder(fs::path(folder_).parent_path().string());
}

}  // namespace tune
