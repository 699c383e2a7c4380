#include "core/posix/host_name.h"

#include <unistd.h>

#include "core/utf8.h"

namespace tune {

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? ToUtf8(name) : "";
}

}  // namespace tune
