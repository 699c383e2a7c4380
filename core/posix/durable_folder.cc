#include "core/posix/durable_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/posix/folder_lock.h"
#include "core/remove_tree.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr int kSameNameMax = 1000;

// "name", "name-2", "name-3", ...
std::string Numbered(const std::string& name, int number) {
  return number == 1 ? name : name + "-" + std::to_string(number);
}

// Of a process that has ended: ours to remove.
void RemoveIfAbandoned(const std::string& path) {
  const FileDescriptor folder = OpenFolder(path);
  if (!folder.is_open() || LockFolder(folder, LOCK_EX) != FolderLock::kOurs ||
      !IsFolderAt(folder, path))
    return;
  std::error_code ignored;
  RemoveTree(path, ignored);
}

// Makes the folder and locks it; nothing where another has it.
Result<std::optional<FileDescriptor>> MakeLocked(const std::string& path) {
  RemoveIfAbandoned(path);
  if (::mkdir(path.c_str(), 0755) != 0) {
    if (errno == EEXIST) return std::optional<FileDescriptor>();
    return ErrnoStatus("create", path);
  }
  FileDescriptor folder = OpenFolder(path);
  // Between the two lines above another may have taken it for an abandoned one.
  if (!folder.is_open() && errno != ENOENT) return ErrnoStatus("open", path);
  if (!folder.is_open() || LockFolder(folder, LOCK_EX) == FolderLock::kTheirs ||
      !IsFolderAt(folder, path)) {
    return std::optional<FileDescriptor>();
  }
  return std::optional<FileDescriptor>(std::move(folder));
}

// A folder that links to one above itself would have no end.
constexpr int kCopyDepthMax = 64;

// From so many on, a sync of the whole file system costs less than one for each.
constexpr int kFilesToSyncTogether = 64;

bool HoldsManyFiles(const std::string& source) {
  std::error_code error;
  int count = 0;
  fs::recursive_directory_iterator it(source, fs::directory_options::follow_directory_symlink,
                                      error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it.depth() > kCopyDepthMax) return false;
    if (++count > kFilesToSyncTogether) return true;
  }
  return false;
}

// Before Linux 5.8 syncfs(2) said nothing of writes that failed.
bool SyncFsTellsErrors() {
  static const bool tells = [] {
    struct utsname system = {};
    int major = 0;
    int minor = 0;
    return uname(&system) == 0 && std::sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 8));
  }();
  return tells;
}

// `each`: every file and folder is synced; else the caller does it for all.
Status CopyTree(const std::string& source, const std::string& target, bool each, int depth) {
  std::error_code error;
  const fs::file_status status = fs::status(source, error);
  if (fs::is_regular_file(status)) return CopyFile(source, target, each);
  if (!fs::exists(status)) return NotFound(source + ": no such file or folder");
  if (!fs::is_directory(status)) return InvalidArgument(source + " is neither file nor folder");
  if (depth > kCopyDepthMax) return InvalidArgument(source + " lies too deep");
  if (::mkdir(target.c_str(), 0755) != 0) return ErrnoStatus("create", target);
  fs::directory_iterator it(source, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    TUNE_RETURN_IF_ERROR(CopyTree(source + "/" + name, target + "/" + name, each, depth + 1));
  }
  if (error) return InvalidArgument("cannot read " + source + ": " + error.message());
  return each ? SyncFolder(target) : OkStatus();
}

}  // namespace

Result<DurableFolder> DurableFolder::Begin(const std::string& parent, const std::string& name) {
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(parent));
  for (int number = 1; number <= kSameNameMax; ++number) {
    const std::string path =
        (fs::path(parent) / (Numbered(name, number) + std::string(kTemporarySuffix))).string();
    TUNE_ASSIGN_OR_RETURN(std::optional<FileDescriptor> lock, MakeLocked(path));
    if (lock) return DurableFolder(parent, name, path, *std::move(lock));
  }
  return Unavailable("cannot create " + name + " in " + parent + ": the name is taken");
}

DurableFolder::~DurableFolder() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  RemoveTree(temporary_, ignored);
}

Status DurableFolder::Write(std::string_view file, std::string_view contents) {
  return WriteFileSynced((fs::path(temporary_) / file).string(), contents);
}

Status DurableFolder::MakeFolder(std::string_view name) { return MakeFolderSynced(PathOf(name)); }

Status DurableFolder::Copy(std::string_view name, const std::string& source) {
  const std::string target = PathOf(name);
  const bool each = !HoldsManyFiles(source) || !SyncFsTellsErrors();
  TUNE_RETURN_IF_ERROR(CopyTree(source, target, each, 0));
  if (!each && ::syncfs(lock_.get()) != 0) return ErrnoStatus("sync", target);
  return SyncFolder(fs::path(target).parent_path().string());
}

Result<std::string> DurableFolder::Commit() {
  TUNE_RETURN_IF_ERROR(SyncFolder(temporary_));
  for (int number = 1; number <= kSameNameMax; ++number) {
    const std::string path = (fs::path(parent_) / Numbered(name_, number)).string();
    // A folder's rename replaces nothing but an empty folder.
    if (::rename(temporary_.c_str(), path.c_str()) != 0) {
      if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) continue;
      return ErrnoStatus("rename to", path);
    }
    temporary_ = path;  // To be removed should the last step fail.
    TUNE_RETURN_IF_ERROR(SyncFolder(parent_));
    temporary_.clear();
    return path;
  }
  return Unavailable("cannot name " + temporary_ + ": the names " + name_ + " to " +
                     Numbered(name_, kSameNameMax) + " are taken");
}

void RemoveAbandonedFolders(const std::string& parent,
                            const std::function<bool(std::string_view name)>& is_ours) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string path = it->path().string();
    if (!path.ends_with(kTemporarySuffix)) continue;
    if (!is_ours || is_ours(it->path().filename().string())) found.push_back(path);
  }
  for (const std::string& path : found) RemoveIfAbandoned(path);
}

}  // namespace tune
