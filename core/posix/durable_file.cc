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

namespace {

Status WriteSynced(const FileDescriptor& file, std::string_view text, const std::string& path) {
  TUNE_RETURN_IF_ERROR(WriteAll(file.get(), std::as_bytes(std::span(text)), path));
  return ::fsync(file.get()) == 0 ? OkStatus() : ErrnoStatus("sync", path);
}

}  // namespace

Status WriteFileSynced(const std::string& path, std::string_view text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) return ErrnoStatus("create", path);
  return WriteSynced(file, text, path);
}

Status ReplaceFileSynced(const std::string& path, std::string_view text) {
  std::string part = path + ".part";
  const auto create = [&part] {
    return FileDescriptor(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  };
  FileDescriptor file = create();
  for (int i = 2; !file.is_open() && errno == EEXIST; ++i) {
    part = path + ".part-" + std::to_string(i);
    file = create();
  }
  if (!file.is_open()) return ErrnoStatus("create", part);
  Status written = WriteSynced(file, text, part);
  if (written.ok()) written = RenameSynced(part, path);
  if (!written.ok()) ::unlink(part.c_str());
  return written;
}

namespace {

// All that is left to read, where the system cannot copy it itself.
Status CopyRest(int source, const std::string& from, int target, const std::string& to) {
  std::vector<std::byte> buffer(1U << 20);
  for (;;) {
    const ssize_t count = ::read(source, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus("read", from);
    if (count == 0) return OkStatus();
    TUNE_RETURN_IF_ERROR(
        WriteAll(target, std::span(buffer.data(), static_cast<size_t>(count)), to));
  }
}

// Bytes `begin` to `end` without going through our memory; false where the system cannot.
Result<bool> CopyRange(int source, int target, off_t begin, off_t end, const std::string& to) {
  off_t at = begin;
  off_t at_target = begin;
  while (at < end) {
    const ssize_t copied =
        ::copy_file_range(source, &at, target, &at_target, static_cast<size_t>(end - at), 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0 && (errno == ENOSPC || errno == EDQUOT)) return ErrnoStatus("write", to);
    if (copied < 0) return false;
    if (copied == 0) return true;  // It became shorter.
  }
  return true;
}

// The parts that hold data; holes stay holes.
Status CopyContents(int source, const std::string& from, int target, const std::string& to) {
  struct stat info = {};
  if (::fstat(source, &info) != 0) return ErrnoStatus("read", from);
  if (info.st_size == 0) return CopyRest(source, from, target, to);
  for (off_t at = 0; at < info.st_size;) {
    off_t begin = ::lseek(source, at, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;  // The rest is a hole.
    const bool knows_holes = begin >= 0;
    if (!knows_holes) begin = at;
    const off_t hole = knows_holes ? ::lseek(source, begin, SEEK_HOLE) : info.st_size;
    const off_t end = std::min(hole < 0 ? info.st_size : hole, info.st_size);
    TUNE_ASSIGN_OR_RETURN(const bool is_copied, CopyRange(source, target, begin, end, to));
    if (!is_copied) {
      if (::lseek(source, begin, SEEK_SET) < 0 || ::lseek(target, begin, SEEK_SET) < 0) {
        return ErrnoStatus("read", from);
      }
      return CopyRest(source, from, target, to);
    }
    at = end;
  }
  struct stat written = {};
  const bool is_short = ::fstat(target, &written) == 0 && written.st_size < info.st_size;
  if (is_short && ::ftruncate(target, info.st_size) != 0) return ErrnoStatus("write", to);
  return OkStatus();
}

}  // namespace

Status CopyFile(const std::string& from, const std::string& to, bool is_synced) {
  const FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.is_open()) return ErrnoStatus("open", from);
  const FileDescriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!target.is_open()) return ErrnoStatus("create", to);
  TUNE_RETURN_IF_ERROR(CopyContents(source.get(), from, target.get(), to));
  struct stat info = {};
  const bool is_program = ::fstat(source.get(), &info) == 0 && (info.st_mode & S_IXUSR) != 0;
  if (is_program && ::fchmod(target.get(), 0755) != 0) return ErrnoStatus("write", to);
  if (is_synced && ::fsync(target.get()) != 0) return ErrnoStatus("sync", to);
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
