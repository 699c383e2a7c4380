#include "core/posix/read_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/posix/file_descriptor.h"

namespace tune {

std::string ReadBytes(const std::string& path, int64_t offset) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes;
  if (!file.is_open() || (offset != 0 && lseek(file.get(), offset, SEEK_SET) < 0)) return bytes;
  char piece[16'384];
  for (;;) {
    const ssize_t count = read(file.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return bytes;
    bytes.append(piece, static_cast<size_t>(count));
  }
}

}  // namespace tune
