#include "tuner/sqlite/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tune {

void MakePrivateFile(const std::string& path) {
  // It is new, so that closing it drops none of this process's locks (database.h).
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  (void)fchmod(fd, 0600);
  (void)close(fd);
}

}  // namespace tune
