#include "trial_runner/package/package_upload.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/file_descriptor.h"
#include "trial_runner/package/kept_package.h"
#include "trial_runner/package/package_piece.h"
#include "trial_runner/package/sha256.h"

namespace tune {
namespace {

Result<std::string> HashOf(int fd, int64_t bytes) {
  Sha256 hash;
  for (int64_t at = 0; at < bytes;) {
    TUNE_ASSIGN_OR_RETURN(const std::string piece,
                          ReadPackagePiece(fd, bytes, at, limits::kPackagePieceBytes));
    hash.Add(piece);
    at += static_cast<int64_t>(piece.size());
  }
  return hash.Finish();
}

}  // namespace

PackageUpload::PackageUpload(std::string folder, std::string_view owner)
    : folder_(std::move(folder)), ending_("-" + HashToHex(Xxh64(owner))) {}

void PackageUpload::MakeRoom(const PackageName& name) const {
  namespace fs = std::filesystem;
  std::vector<std::pair<fs::file_time_type, fs::path>> others;
  int64_t bytes = name.bytes;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string file = it->path().filename().string();
    const bool is_own = file.starts_with(".part-") && file.ends_with(ending_);
    if (!is_own || it->path() == PartOf(name)) continue;
    std::error_code ignored;
    others.emplace_back(it->last_write_time(ignored), it->path());
    bytes += static_cast<int64_t>(it->file_size(ignored));
  }
  std::sort(others.begin(), others.end());
  for (const auto& [written, path] : others) {
    if (bytes <= limits::kPackageBytesMax) return;
    std::error_code ignored;
    bytes -= static_cast<int64_t>(fs::file_size(path, ignored));
    fs::remove(path, ignored);
  }
}

int64_t PackageUpload::Have(const PackageName& name) const {
  if (OpenKeptPackage(folder_, name).ok()) return name.bytes;
  struct stat info = {};
  return stat(PartOf(name).c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : 0;
}

Result<int64_t> PackageUpload::Append(const PackageName& name, int64_t from,
                                      std::string_view piece) {
  const int64_t have = Have(name);
  if (have == name.bytes) return have;
  const int64_t size = static_cast<int64_t>(piece.size());
  if (from != have || size > name.bytes - have) {
    return FailedPrecondition("read " + std::to_string(size) + " bytes from " +
                              std::to_string(from) + " on, expected those from " +
                              std::to_string(have) + " of " + std::to_string(name.bytes));
  }
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(folder_));
  if (chmod(folder_.c_str(), 0700) != 0) return ErrnoStatus("make private", folder_);
  if (have == 0) MakeRoom(name);
  const std::string part = PartOf(name);
  const FileDescriptor file(
      open(part.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return ErrnoStatus("create", part);
  const Status written = WriteAll(file.get(), std::as_bytes(std::span(piece)), part);
  if (!written.ok()) {  // Others need the room.
    (void)unlink(part.c_str());
    return written;
  }
  if (have + size < name.bytes) return have + size;
  TUNE_ASSIGN_OR_RETURN(const std::string sha256, HashOf(file.get(), name.bytes));
  if (sha256 != name.sha256) {
    (void)unlink(part.c_str());
    return DataLoss("what came is not what was named");
  }
  if (fsync(file.get()) != 0) return ErrnoStatus("sync", part);
  TUNE_RETURN_IF_ERROR(RenameSynced(part, folder_ + "/" + name.sha256));
  return name.bytes;
}

}  // namespace tune
