#include "core/posix/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/posix/durable_file.h"

namespace tune {

Status MakePrivateFolder(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (!parent.empty()) TUNE_RETURN_IF_ERROR(MakeFolderSynced(parent));
  if (::mkdir(path.c_str(), 0700) == 0) {
    // The umask may have taken the owner's rights too.
    if (::chmod(path.c_str(), 0700) != 0) return ErrnoStatus("create", path);
    return SyncFolder(parent.empty() ? "." : parent);
  }
  if (errno != EEXIST) return ErrnoStatus("create", path);
  const FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info = {};
  if (!folder.is_open() || ::fstat(folder.get(), &info) != 0) {
    return FailedPrecondition(path + " is there and is no folder that can be read; remove it");
  }
  if (info.st_uid != ::geteuid()) {
    return FailedPrecondition(path + " belongs to another user (id " + std::to_string(info.st_uid) +
                              "); choose another place");
  }
  if ((info.st_mode & 0022) != 0) {
    return FailedPrecondition(path + " can be written by other users; remove it, or take their " +
                              "rights away (chmod go= " + path + ")");
  }
  if ((info.st_mode & 0077) != 0 && ::fchmod(folder.get(), 0700) != 0) {
    return ErrnoStatus("take other users' rights from", path);
  }
  return OkStatus();
}

}  // namespace tune
