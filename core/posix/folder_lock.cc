#include "core/posix/folder_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace tune {

FileDescriptor OpenFolder(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

FolderLock LockFolder(const FileDescriptor& folder, int how) {
  while (::flock(folder.get(), how | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return errno == EWOULDBLOCK ? FolderLock::kTheirs : FolderLock::kUnknown;
  }
  return FolderLock::kOurs;
}

bool IsFolderAt(const FileDescriptor& folder, const std::string& path) {
  struct stat open_one = {};
  struct stat named_one = {};
  return ::fstat(folder.get(), &open_one) == 0 && ::lstat(path.c_str(), &named_one) == 0 &&
         open_one.st_ino == named_one.st_ino && open_one.st_dev == named_one.st_dev;
}

}  // namespace tune
