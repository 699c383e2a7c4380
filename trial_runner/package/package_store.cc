#include "trial_runner/package/package_store.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/durable_folder.h"
#include "core/posix/kept_folders.h"
#include "core/posix/private_folder.h"
#include "trial_runner/package/package_format.h"
#include "trial_runner/package/sha256.h"
#include "trial_runner/package/unpack.h"
#include "trial_runner/package/unpacked_folder.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr Duration kLockLookPause = Milliseconds(100);

Status Interrupted() { return Unavailable("the worker is ending"); }

bool IsFolderPath(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

int64_t BytesOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_size : -1;
}

// No other worker's.
std::string OwnPartOf(const std::string& target) {
  return target + "-" + std::to_string(getpid()) + ".part";
}

// The file, ours as long as it is open; nothing: another has it.
Result<FileDescriptor> OpenLocked(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return ErrnoStatus("create", path);
  // Where the file system has no locks, two fetch it; the second finds the name taken.
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return FileDescriptor();
  struct stat opened = {};
  struct stat named = {};
  const bool is_there = fstat(file.get(), &opened) == 0 && stat(path.c_str(), &named) == 0 &&
                        opened.st_ino == named.st_ino;
  return is_there ? std::move(file) : FileDescriptor();  // Its holder has just removed it.
}

}  // namespace

Interruption::Interruption() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  TUNE_CHECK(event_.is_open());
}

void Interruption::Raise() {
  const uint64_t one = 1;
  TUNE_CHECK(write(event_.get(), &one, sizeof one) == sizeof one);
}

bool Interruption::Waits(Duration patience) const {
  pollfd raised = {event_.get(), POLLIN, 0};
  return poll(&raised, 1, static_cast<int>(patience.us / 1000)) == 1;
}

Result<HeldPackage> PackageStore::Obtain(const PackageName& package,
                                         const PackageDial& dial) const {
  const std::string part_path = folder_ + "/" + package.sha256 + ".part";
  std::string target = folder_ + "/" + package.sha256;
  bool is_new = false;
  bool is_changed = false;
  int64_t seen_bytes = -1;  // Of what another fetches,
  Duration stalled;         // and for how long.
  while (true) {
    TUNE_ASSIGN_OR_RETURN(std::optional<FileDescriptor> hold, HoldFolder(target));
    if (hold && !is_new && !is_changed) {
      TUNE_RETURN_IF_ERROR(MakePrivateFolder(folder_));  // Whose is it?
      is_changed = !IsAsItCame(target, package);
      // Where others run in it, ours gets another name.
      if (is_changed) hold->Close();
      if (is_changed) RemoveUnlessHeld(target);
    }
    if (hold && hold->is_open() && (is_new || !is_changed)) {
      if (is_new) RemoveLeastUsedFolders(folder_, limits::kPackagesKeptMax);
      return HeldPackage{std::move(target), *std::move(hold)};
    }
    TUNE_RETURN_IF_ERROR(MakePrivateFolder(folder_));
    Part part = {part_path, {}};
    if (stalled >= patience_) part.path = OwnPartOf(target);
    TUNE_ASSIGN_OR_RETURN(part.file, OpenLocked(part.path));
    if (part.file.is_open()) {
      TUNE_ASSIGN_OR_RETURN(target, FetchAndUnpack(package, dial, part, is_changed));
      is_new = true;
    } else if (interruption_.Waits(kLockLookPause)) {
      return Interrupted();
    }
    const int64_t bytes = BytesOf(part_path);
    stalled = bytes == seen_bytes ? stalled + kLockLookPause : Duration{};
    seen_bytes = bytes;
  }
}

Result<std::string> PackageStore::FetchAndUnpack(const PackageName& package,
                                                 const PackageDial& dial, const Part& part,
                                                 bool is_changed) const {
  const std::string target = folder_ + "/" + package.sha256;
  if (!is_changed && IsFolderPath(target)) {  // Its fetcher has just ended.
    unlink(part.path.c_str());
    return target;
  }
  RemoveAbandonedFolders(folder_);
  Result<std::string> unpacked = DataLoss("");
  for (int tries = 0; tries < limits::kPackageTriesMax; ++tries) {
    const Status fetched = Fetch(package, dial, part);
    unpacked = fetched.ok() ? Unpack(package, part) : fetched;
    if (unpacked.ok() || unpacked.status().code() != StatusCode::kDataLoss) break;
    if (ftruncate(part.file.get(), 0) != 0) return ErrnoStatus("write", part.path);
  }
  // What is whole is not needed twice, and what finds no room shall leave some.
  const bool is_kept = unpacked.status().code() == StatusCode::kUnavailable;
  if (!is_kept) unlink(part.path.c_str());
  return unpacked;
}

// Appends what is missing.
Status PackageStore::Fetch(const PackageName& package, const PackageDial& dial,
                           const Part& part) const {
  int64_t have = lseek(part.file.get(), 0, SEEK_END);
  if (have > package.bytes) return DataLoss(part.path + " is longer than the package");
  int64_t pause_ms = limits::kReconnectMs;
  Duration unknown_for;  // The tuner has said for so long that it has no such package.
  while (have < package.bytes) {
    const std::unique_ptr<PackageStream> stream = dial(package, have);
    bool is_known = true;
    while (have < package.bytes) {
      if (interruption_.IsRaised()) return Interrupted();
      const Result<std::optional<std::string>> piece = stream->Next();
      // A tuner that has another package now has said so, or will, in a new Welcome.
      is_known = piece.status().code() != StatusCode::kNotFound;
      if (!is_known || piece.status().code() == StatusCode::kUnavailable) break;
      if (!piece.ok()) return piece.status();
      if (!*piece) return DataLoss("it ended after " + std::to_string(have) + " bytes");
      have += static_cast<int64_t>((*piece)->size());
      if (have > package.bytes) return DataLoss("more came than was named");
      if (!(*piece)->empty()) pause_ms = limits::kReconnectMs;
      TUNE_RETURN_IF_ERROR(WriteAll(part.file.get(),
                                    std::as_bytes(std::span((*piece)->data(), (*piece)->size())),
                                    part.path));
    }
    if (have == package.bytes) break;
    if (!is_known && unknown_for >= patience_) return NotFound("the tuner has no package of it");
    if (interruption_.Waits(Milliseconds(pause_ms))) return Interrupted();
    unknown_for = is_known ? Duration{} : unknown_for + Milliseconds(pause_ms);
    pause_ms = std::min(2 * pause_ms, limits::kReconnectMsMax);
  }
  return OkStatus();
}

Result<std::string> PackageStore::Unpack(const PackageName& package, const Part& part) const {
  TUNE_ASSIGN_OR_RETURN(const MappedFile text, MappedFile::Of(part.file.get(), part.path));
  Sha256 hash;
  hash.Add(text.text());
  if (hash.Finish() != package.sha256) return DataLoss("what came has another SHA-256");
  TUNE_ASSIGN_OR_RETURN(const std::vector<PackageEntry> entries, ParsePackage(text.text()));
  TUNE_ASSIGN_OR_RETURN(DurableFolder folder, DurableFolder::Begin(folder_, package.sha256));
  for (const PackageEntry& entry : entries) {
    TUNE_RETURN_IF_ERROR(MakeEntry(entry, folder.PathOf(entry.path)));
  }
  // All at once: a sync for each of many small files would take minutes.
  const FileDescriptor here(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!here.is_open() || syncfs(here.get()) != 0) return ErrnoStatus("sync", folder_);
  // Before anybody finds the folder. Without it the next worker fetches again.
  (void)WriteEntryList(folder_ + "/" + package.sha256, entries);
  return folder.Commit();
}

}  // namespace tune
