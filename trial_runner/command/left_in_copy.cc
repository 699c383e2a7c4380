#include "trial_runner/command/left_in_copy.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <filesystem>

#include "core/posix/file_descriptor.h"
#include "core/utf8.h"
#include "trial_runner/command/listed_names.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr int kLookedAtMax = 5'000;

Instant ToInstant(const timespec& time) {
  return Instant{static_cast<int64_t>(time.tv_sec) * 1'000'000 + time.tv_nsec / 1'000};
}

bool IsPassedOver(const std::string& name) {
  return name.starts_with('.') || name == "__pycache__" || name.ends_with(".pyc");
}

bool IsSince(const fs::path& path, Instant since) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  return ToInstant(info.st_ctim) > since;
}

}  // namespace

// The kernel stamps files with the time of its last tick, or with a finer one where a file's stamp
// was looked at before; a later stamp is never earlier than that. A new file tells, no clock does.
Instant FileClockNow() {
  const FileDescriptor file(memfd_create("now", MFD_CLOEXEC));
  struct stat info = {};
  if (file.is_open() && fstat(file.get(), &info) == 0) return ToInstant(info.st_ctim);
  timespec time = {};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return ToInstant(time);
}

std::string NoteOfFilesInCopy(const WorkPlace& place, const std::string& folder, Instant since,
                              const std::vector<std::string>& known) {
  const bool is_copy = folder.starts_with(place.cache + "/packages/") ||
                       folder.starts_with(place.cache + "/copies/");
  if (place.cache.empty() || !is_copy) return "";
  std::vector<std::string> names;
  std::error_code error;
  int count = 0;
  fs::recursive_directory_iterator it(folder, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (++count > kLookedAtMax) return "";
    const std::string name = it->path().lexically_relative(folder).string();
    if (IsPassedOver(it->path().filename().string())) {
      it.disable_recursion_pending();
    } else if (IsSince(it->path(), since) &&
               std::find(known.begin(), known.end(), name) == known.end()) {
      names.push_back(ToUtf8(name));
    }
  }
  if (names.empty()) return "";
  std::sort(names.begin(), names.end());
  return "left on another machine: the program wrote " + ListedNames(names) +
         " beside its code, in a copy of its folder that stays there; what shall come to the tuner "
         "it has to write to {tune.dir} (TUNE_DIR, in Python tune.folder())";
}

}  // namespace tune
