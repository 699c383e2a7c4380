#include "trial_runner/package/package_piece.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tune {

Result<std::string> ReadPackagePiece(int fd, int64_t bytes, int64_t offset, size_t bytes_max) {
  const int64_t left = std::max<int64_t>(0, bytes - offset);
  std::string text(static_cast<size_t>(std::min(left, static_cast<int64_t>(bytes_max))), '\0');
  if (text.empty()) return text;
  ssize_t count = -1;
  do {
    count = pread(fd, text.data(), text.size(), offset);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return Internal(std::string("the package cannot be read: ") + strerror(errno));
  text.resize(static_cast<size_t>(count));
  return text;
}

}  // namespace tune
