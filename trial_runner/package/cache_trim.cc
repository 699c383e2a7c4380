#include "trial_runner/package/cache_trim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/posix/durable_folder.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/folder_lock.h"
#include "core/posix/kept_folders.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr Duration kInUse = Seconds(24 * 3600);
constexpr const char* kParts[] = {"/packages/", "/copies/", "/setup/", "/data/", "/inputs/"};

struct Kept {
  std::string path;
  int64_t bytes = 0;
  Instant used;
  bool is_artifacts = false;
};

Instant ModifiedAt(const std::string& path) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) return Instant{};
  return Instant{static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000 +
                 info.st_mtim.tv_nsec / 1'000};
}

// What its files take on the disk, or some of them once `stop` is requested. `newest`: the latest
// change of any of them.
int64_t Measure(const std::string& folder, Instant& newest, const std::stop_token& stop) {
  int64_t bytes = 0;
  std::error_code error;
  const auto skip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(folder, skip, error), end;
       !error && it != end && !stop.stop_requested(); it.increment(error)) {
    struct stat info = {};
    if (lstat(it->path().c_str(), &info) != 0) continue;
    bytes += static_cast<int64_t>(info.st_blocks) * 512;
    newest = std::max(newest, Instant{static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000});
  }
  return bytes;
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool IsRealFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

bool IsHeld(const std::string& path) {
  const FileDescriptor folder = OpenFolder(path);
  return folder.is_open() && LockFolder(folder, LOCK_EX) == FolderLock::kTheirs;
}

class Trim {
 public:
  Trim(std::string cache, Instant now, bool dry_run, std::stop_token stop)
      : cache_(std::move(cache)), now_(now), dry_run_(dry_run), stop_(std::move(stop)) {}

  std::vector<TrimmedPath> Run(int64_t budget_bytes) {
    RemoveTemporary();
    RemoveBrokenOff();
    Find();
    int64_t total = 0;
    for (const Kept& kept : kept_) total += kept.bytes;
    std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) {
      return std::pair(a.used, a.path) < std::pair(b.used, b.path);
    });
    for (const Kept& kept : kept_) {
      if (total <= budget_bytes || stop_.stop_requested()) break;
      if (!Remove(kept)) continue;
      total -= kept.bytes;
      trimmed_.push_back({kept.path, kept.bytes, "the least used of a cache beyond its budget"});
    }
    return std::move(trimmed_);
  }

 private:
  // What has a temporary name: its removal, or its making, broke off.
  void RemoveTemporary() {
    for (const char* const part : kParts) {
      for (const std::string& name : NamesIn(cache_ + part)) {
        const std::string path = cache_ + part + name;
        const bool is_temporary =
            name.ends_with(kTemporarySuffix) && IsKeptName(fs::path(name).stem());
        if (!is_temporary || !IsRealFolder(path) || IsHeld(path)) continue;
        if (now_ - ModifiedAt(path) < kInUse) continue;
        Instant newest;
        const int64_t bytes = Measure(path, newest, stop_);
        if (stop_.stop_requested()) return;
        if (!dry_run_) {
          RemoveAbandonedFolders(cache_ + part, [&](std::string_view one) { return one == name; });
        }
        if (dry_run_ || !IsRealFolder(path)) {
          trimmed_.push_back({path, bytes, "a folder whose removal broke off"});
        }
      }
    }
  }

  // Data that nobody fetches, texts of packages likewise, and lists of folders that are gone.
  void RemoveBrokenOff() {
    for (const std::string& name : NamesIn(cache_ + "/data")) {
      const std::string path = cache_ + "/data/" + name;
      const bool is_part = name.ends_with(".part") && IsKeptName(fs::path(name).stem());
      if (!is_part || !IsRealFolder(path) || now_ - ModifiedAt(path) < kInUse) continue;
      Instant newest;
      const Kept part{path, Measure(path, newest, stop_), newest};
      if (stop_.stop_requested()) return;
      if (Remove(part)) trimmed_.push_back({path, part.bytes, "data that broke off on their way"});
    }
    if (stop_.stop_requested()) return;
    const std::string packages = cache_ + "/packages";
    for (const std::string& name : NamesIn(packages)) {
      const std::string path = packages + "/" + name;
      if (!IsKeptName(fs::path(name).stem())) continue;
      if (name.ends_with(".list") &&
          !IsRealFolder(path.substr(0, path.size() - std::string(".list").size()))) {
        RemoveFile(path, "of a package that is gone");
      }
      if (!name.ends_with(".part") || now_ - ModifiedAt(path) < kInUse) continue;
      const FileDescriptor part(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
      if (!part.is_open() || flock(part.get(), LOCK_EX | LOCK_NB) != 0) continue;
      RemoveFile(path, "a package that broke off on its way");
    }
  }

  void RemoveFile(const std::string& path, const std::string& reason) {
    struct stat info = {};
    if (lstat(path.c_str(), &info) != 0 || (!dry_run_ && unlink(path.c_str()) != 0)) return;
    trimmed_.push_back({path, static_cast<int64_t>(info.st_blocks) * 512, reason});
  }

  void Find() {
    for (const char* const part : kParts) {
      for (const std::string& name : NamesIn(cache_ + part)) {
        if (IsKeptName(name)) Add(cache_ + part + name, false);
      }
    }
    // By tuner, then by sweep.
    for (const std::string& tuner : NamesIn(cache_ + "/artifacts")) {
      if (!IsKeptName(tuner)) continue;
      for (const std::string& sweep : NamesIn(cache_ + "/artifacts/" + tuner)) {
        Add(cache_ + "/artifacts/" + tuner + "/" + sweep, true);
      }
    }
  }

  void Add(const std::string& path, bool is_artifacts) {
    if (!IsRealFolder(path)) return;
    Kept kept{path, 0, ModifiedAt(path), is_artifacts};
    Instant newest = kept.used;
    kept.bytes = Measure(path, newest, stop_);
    if (is_artifacts) kept.used = newest;
    kept_.push_back(std::move(kept));
  }

  bool Remove(const Kept& kept) const {
    if (kept.is_artifacts) {
      if (now_ - kept.used < kInUse) return false;
    } else if (IsHeld(kept.path)) {
      return false;
    }
    if (dry_run_) return true;
    RemoveUnlessHeld(kept.path);
    return !IsRealFolder(kept.path) && !IsRealFolder(kept.path + std::string(kTemporarySuffix));
  }

  const std::string cache_;
  const Instant now_;
  const bool dry_run_;
  const std::stop_token stop_;
  std::vector<Kept> kept_;
  std::vector<TrimmedPath> trimmed_;
};

}  // namespace

std::vector<TrimmedPath> TrimCache(const std::string& cache, int64_t budget_bytes, Instant now,
                                   bool dry_run, std::stop_token stop) {
  if (cache.empty()) return {};
  return Trim(cache, now, dry_run, std::move(stop)).Run(budget_bytes);
}

}  // namespace tune
