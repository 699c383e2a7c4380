#include "trial_runner/package/kept_package.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/file_descriptor.h"
#include "trial_runner/package/package_piece.h"

namespace tune {
namespace {

class KeptPackage final : public PackageSource {
 public:
  KeptPackage(PackageName name, FileDescriptor file)
      : name_(std::move(name)), file_(std::move(file)) {}

  const PackageName& name() const override { return name_; }
  Result<std::string> Read(int64_t offset, size_t bytes_max) const override {
    return ReadPackagePiece(file_.get(), name_.bytes, offset, bytes_max);
  }

 private:
  const PackageName name_;
  const FileDescriptor file_;
};

// A file of this process's own in the folder, until it is whole.
class Part {
 public:
  explicit Part(const std::string& folder) : path_(folder + "/.part-XXXXXX") {
    file_ = FileDescriptor(mkostemp(path_.data(), O_CLOEXEC));
  }
  ~Part() {
    if (file_.is_open()) (void)unlink(path_.c_str());  // Gone where it was renamed.
  }
  bool is_open() const { return file_.is_open(); }
  const std::string& path() const { return path_; }

  Status Write(const PackageSource& package) {
    for (int64_t at = 0; at < package.name().bytes;) {
      TUNE_ASSIGN_OR_RETURN(const std::string piece, package.Read(at, limits::kPackagePieceBytes));
      if (piece.empty()) return Internal("the package ends before its end");
      TUNE_RETURN_IF_ERROR(WriteAll(file_.get(), std::as_bytes(std::span(piece)), path_));
      at += static_cast<int64_t>(piece.size());
    }
    return fsync(file_.get()) == 0 ? OkStatus() : ErrnoStatus("sync", path_);
  }

 private:
  std::string path_;
  FileDescriptor file_;
};

}  // namespace

Status KeepPackage(const PackageSource& package, const std::string& folder) {
  // Who kept it before may have been killed between the name and its sync.
  if (OpenKeptPackage(folder, package.name()).ok()) return SyncFolder(folder);
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(folder));
  if (chmod(folder.c_str(), 0700) != 0) return ErrnoStatus("make private", folder);
  Part part(folder);
  if (!part.is_open()) return ErrnoStatus("create", part.path());
  TUNE_RETURN_IF_ERROR(part.Write(package));
  return RenameSynced(part.path(), folder + "/" + package.name().sha256);
}

Result<std::shared_ptr<const PackageSource>> OpenKeptPackage(const std::string& folder,
                                                             const PackageName& name) {
  auto package = FindKeptPackage(folder, name);
  if (package.ok()) TouchKeptPackage(folder, name.sha256);
  return package;
}

Result<std::shared_ptr<const PackageSource>> FindKeptPackage(const std::string& folder,
                                                             const PackageName& name) {
  const std::string path = folder + "/" + name.sha256;
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return NotFound(path + ": " + strerror(errno));
  struct stat info = {};
  const bool is_whole = fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) &&
                        static_cast<int64_t>(info.st_size) == name.bytes;
  if (!is_whole) return NotFound(path + ": is not what was kept there");
  return std::shared_ptr<const PackageSource>(std::make_shared<KeptPackage>(name, std::move(file)));
}

void TouchKeptPackage(const std::string& folder, const std::string& sha256) {
  const std::string path = folder + "/" + sha256;
  (void)utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void TrimKeptPackages(const std::string& folder, const std::set<std::string>& needed,
                      size_t others_max) {
  namespace fs = std::filesystem;
  constexpr std::chrono::hours kBrokeOff(24);
  std::vector<std::pair<fs::file_time_type, fs::path>> others;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    const fs::file_time_type modified = it->last_write_time(ignored);
    if (ignored || needed.contains(name)) continue;
    if (!name.starts_with(".part-")) {
      others.emplace_back(modified, it->path());
    } else if (fs::file_time_type::clock::now() - modified > kBrokeOff) {
      fs::remove(it->path(), ignored);
    }
  }
  std::sort(others.rbegin(), others.rend());  // The latest first.
  for (size_t i = others_max; i < others.size(); ++i) fs::remove(others[i].second, error);
}

}  // namespace tune
