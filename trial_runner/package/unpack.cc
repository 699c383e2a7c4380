#include "trial_runner/package/unpack.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>

#include "core/posix/durable_file.h"

namespace tune {
namespace {

enum class Durability { kLater, kNow };

Status Make(const PackageEntry& entry, const std::string& path, Durability durability) {
  const mode_t mode = ModeOf(entry.kind);
  if (IsFolder(entry.kind)) {
    const bool is_made = mkdir(path.c_str(), mode) == 0 && chmod(path.c_str(), mode) == 0;
    return is_made ? OkStatus() : ErrnoStatus("create", path);
  }
  if (entry.kind == PackageKind::kLink) {
    const std::string target(entry.content);
    return symlink(target.c_str(), path.c_str()) == 0 ? OkStatus() : ErrnoStatus("create", path);
  }
  const FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  // As it was packed, whatever the umask here: the rights are a part of the name.
  if (!file.is_open() || fchmod(file.get(), mode) != 0) return ErrnoStatus("create", path);
  TUNE_RETURN_IF_ERROR(WriteAll(
      file.get(), std::as_bytes(std::span(entry.content.data(), entry.content.size())), path));
  if (durability == Durability::kNow && fsync(file.get()) != 0) return ErrnoStatus("sync", path);
  return OkStatus();
}

}  // namespace

Result<MappedFile> MappedFile::Of(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return ErrnoStatus("look at", path);
  const auto bytes = static_cast<size_t>(info.st_size);
  if (bytes == 0) return DataLoss(path + " is empty");
  void* const start = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (start == MAP_FAILED) return ErrnoStatus("read", path);
  return MappedFile(start, bytes);
}

MappedFile::~MappedFile() {
  if (start_ != nullptr) munmap(start_, bytes_);
}

Status MakeEntry(const PackageEntry& entry, const std::string& path) {
  return Make(entry, path, Durability::kLater);
}

Status MakeEntriesSynced(const std::vector<PackageEntry>& entries, const std::string& folder) {
  for (const PackageEntry& entry : entries) {
    TUNE_RETURN_IF_ERROR(Make(entry, folder + "/" + std::string(entry.path), Durability::kNow));
  }
  for (const PackageEntry& entry : entries) {
    if (!IsFolder(entry.kind)) continue;
    TUNE_RETURN_IF_ERROR(SyncFolder(folder + "/" + std::string(entry.path)));
  }
  return OkStatus();
}

}  // namespace tune
