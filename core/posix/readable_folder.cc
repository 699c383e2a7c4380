#include "core/posix/readable_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tune {

Status CheckMayBeRead(const std::string& folder) {
  const auto check = [](const std::string& path, int mode) {
    const bool may = faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
    if (may || errno != EACCES) return OkStatus();
    return PermissionDenied("cannot read " + path + ": " + std::strerror(EACCES));
  };
  TUNE_RETURN_IF_ERROR(check(folder, R_OK | X_OK));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    TUNE_RETURN_IF_ERROR(check(entry.path(), R_OK));
  }
  return OkStatus();
}

}  // namespace tune
