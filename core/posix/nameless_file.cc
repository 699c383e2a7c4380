#include "core/posix/nameless_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/posix/durable_file.h"

namespace tune {

Result<FileDescriptor> OpenNamelessFile(const std::string& folder) {
  FileDescriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.is_open()) return file;
  std::string name = folder + "/.tune-XXXXXX";
  FileDescriptor named(::mkostemp(name.data(), O_CLOEXEC));
  if (!named.is_open()) return ErrnoStatus("make a file in", folder);
  (void)::unlink(name.c_str());
  return named;
}

}  // namespace tune
