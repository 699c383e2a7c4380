#include "core/posix/open_files.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tune {

OpenFiles OpenFiles::OfThisProcess() {
  OpenFiles open;
  std::error_code error;
  std::filesystem::directory_iterator it("/proc/self/fd", error);
  for (const std::filesystem::directory_iterator end; !error && it != end; it.increment(error)) {
    struct stat info = {};
    const int fd = std::atoi(it->path().filename().c_str());
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
      open.files_.insert({info.st_dev, info.st_ino});
  }
  return open;
}

}  // namespace tune
