#include "core/posix/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace tune {

Status ErrnoStatus(std::string_view doing, const std::string& path) {
  const int error = errno;
  std::string message = "cannot " + std::string(doing) + " " + path + ": " + std::strerror(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return NotFound(std::move(message));
    case ENOSPC:
    case EDQUOT:
      return ResourceExhausted(std::move(message));
    case EACCES:
    case EPERM:
    case EROFS:
    case EISDIR:
      return InvalidArgument(std::move(message));
    default:
      return Unavailable(std::move(message));
  }
}

Status WriteAll(int fd, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), 1U << 30));
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus("write", path);
    }
    if (written == 0) {
      errno = ENOSPC;
      return ErrnoStatus("write", path);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return OkStatus();
}

Result<std::string> ReadFile(const std::string& path, uint64_t bytes_max) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return ErrnoStatus("open", path);
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus("look at", path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path + " is not a file");
  if (static_cast<uint64_t>(info.st_size) > bytes_max) {
    return InvalidArgument(path + " has " + std::to_string(info.st_size) + " bytes, at most " +
                           std::to_string(bytes_max) + " are expected");
  }
  std::string contents(static_cast<size_t>(info.st_size), '\0');
  size_t at = 0;
  while (at < contents.size()) {
    const ssize_t got = ::read(file.get(), contents.data() + at, contents.size() - at);
    if (got < 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      Status status = ErrnoStatus("read", path);
      return error == EIO ? DataLoss(status.message()) : status;
    }
    if (got == 0) break;
    at += static_cast<size_t>(got);
  }
  contents.resize(at);
  return contents;
}

Status WriteFileSynced(const std::string& path, std::string_view text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) return ErrnoStatus("create", path);
  TUNE_RETURN_IF_ERROR(WriteAll(file.get(), std::as_bytes(std::span(text)), path));
  if (::fsync(file.get()) != 0) return ErrnoStatus("sync", path);
  return OkStatus();
}

Status CopyFileSynced(const std::string& from, const std::string& to) {
  const FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.is_open()) return ErrnoStatus("open", from);
  const FileDescriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!target.is_open()) return ErrnoStatus("create", to);
  constexpr size_t kPieceBytes = 1U << 30;
  ssize_t copied = 0;
  do {
    copied = ::copy_file_range(source.get(), nullptr, target.get(), nullptr, kPieceBytes, 0);
  } while (copied > 0 || (copied < 0 && errno == EINTR));
  if (copied < 0 && (errno == ENOSPC || errno == EDQUOT)) return ErrnoStatus("write", to);
  // The rest where the system cannot do it (other file systems): both stand where it ended.
  std::vector<std::byte> buffer(copied < 0 ? 1U << 20 : 0);
  while (copied != 0) {
    copied = ::read(source.get(), buffer.data(), buffer.size());
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0) return ErrnoStatus("read", from);
    TUNE_RETURN_IF_ERROR(
        WriteAll(target.get(), std::span(buffer.data(), static_cast<size_t>(copied)), to));
  }
  if (::fsync(target.get()) != 0) return ErrnoStatus("sync", to);
  return OkStatus();
}

Status SyncFolder(const std::string& folder) {
  const FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return ErrnoStatus("open", folder);
  if (::fsync(fd.get()) != 0) return ErrnoStatus("sync", folder);
  return OkStatus();
}

Status MakeFolderSynced(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return OkStatus();
    errno = ENOTDIR;
    return ErrnoStatus("create", path);
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (!parent.empty()) TUNE_RETURN_IF_ERROR(MakeFolderSynced(parent));
  // Where another made it just now, its name may not be durable yet: the sync is due all the same.
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return ErrnoStatus("create", path);
  return SyncFolder(parent.empty() ? "." : parent);
}

Status RenameSynced(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return ErrnoStatus("rename to", to);
  const std::string parent = std::filesystem::path(to).parent_path().string();
  return SyncFolder(parent.empty() ? "." : parent);
}

}  // namespace tune
