#include "core/posix/kept_folders.h"

#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/posix/durable_file.h"
#include "core/posix/durable_folder.h"
#include "core/posix/folder_lock.h"
#include "core/remove_tree.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

struct UsedFolder {
  timespec used = {};
  std::string path;
};

}  // namespace

// By the temporary name, so that it is never found by its own with a part of what was in it; the
// name is durable before anything goes.
void RemoveUnlessHeld(const std::string& path) {
  const FileDescriptor folder = OpenFolder(path);
  if (!folder.is_open() || LockFolder(folder, LOCK_EX) != FolderLock::kOurs) return;
  if (!IsFolderAt(folder, path)) return;
  const std::string doomed = path + std::string(kTemporarySuffix);
  // Of a removal that was cut off.
  RemoveAbandonedFolders(fs::path(path).parent_path().string(), [&](std::string_view name) {
    return name == fs::path(doomed).filename().string();
  });
  if (!RenameSynced(path, doomed).ok()) return;
  std::error_code ignored;
  RemoveTree(doomed, ignored);
}

Result<std::optional<FileDescriptor>> HoldFolder(const std::string& path) {
  FileDescriptor folder = OpenFolder(path);
  if (!folder.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileDescriptor>();
    return ErrnoStatus("open", path);
  }
  // Without locks nothing is ever removed.
  if (LockFolder(folder, LOCK_SH) == FolderLock::kTheirs || !IsFolderAt(folder, path)) {
    return std::optional<FileDescriptor>();
  }
  // Where this cannot be set, it is removed a little too early.
  (void)::futimens(folder.get(), nullptr);
  return std::optional(std::move(folder));
}

bool IsKeptName(const std::string& name) {
  constexpr size_t kSha256 = 64;
  constexpr size_t kXxh64 = 16;
  return (name.size() == kSha256 || name.size() == kXxh64) &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void RemoveLeastUsedFolders(const std::string& parent, size_t keep) {
  std::vector<UsedFolder> found;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string path = it->path().string();
    struct stat info = {};
    if (!IsKeptName(it->path().filename()) || ::lstat(path.c_str(), &info) != 0) continue;
    if (S_ISDIR(info.st_mode)) found.push_back({info.st_mtim, path});
  }
  std::sort(found.begin(), found.end(), [](const UsedFolder& a, const UsedFolder& b) {
    if (a.used.tv_sec != b.used.tv_sec) return a.used.tv_sec > b.used.tv_sec;
    if (a.used.tv_nsec != b.used.tv_nsec) return a.used.tv_nsec > b.used.tv_nsec;
    return a.path < b.path;
  });
  for (size_t i = keep; i < found.size(); ++i) RemoveUnlessHeld(found[i].path);
}

}  // namespace tune
