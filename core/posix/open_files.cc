#include "core/posix/open_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

namespace tune {

OpenFiles OpenFiles::OfThisProcess() {
  OpenFiles open;
  std::error_code error;
  std::filesystem::directory_iterator it("/proc/self/fd", error);
  for (const std::filesystem::directory_iterator end; !error && it != end; it.increment(error)) {
    // By its name here: other threads open and close meanwhile, and what is open is what is asked.
    struct stat info = {};
    if (stat(it->path().c_str(), &info) == 0 && S_ISREG(info.st_mode))
      open.files_.insert({info.st_dev, info.st_ino});
  }
  return open;
}

}  // namespace tune
