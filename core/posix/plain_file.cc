#include "core/posix/plain_file.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <system_error>

#include "core/posix/durable_file.h"
#include "core/posix/file_descriptor.h"

namespace tune {

Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return OkStatus();
  errno = error.value();
  return ErrnoStatus("create", path);
}

Status WriteFile(const std::string& path, std::string_view text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) return ErrnoStatus("create", path);
  return WriteAll(file.get(), std::as_bytes(std::span(text)), path);
}

}  // namespace tune
