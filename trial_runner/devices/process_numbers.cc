#include "trial_runner/devices/process_numbers.h"

#include <unistd.h>

#include <string_view>

namespace tune {

bool SeesAllProcesses() {
  constexpr std::string_view kFirst = "pid:[4026531836]";  // PROC_PID_INIT_INO
  char target[64];
  const ssize_t length = readlink("/proc/self/ns/pid", target, sizeof target);
  return length > 0 && std::string_view(target, static_cast<size_t>(length)) == kFirst;
}

}  // namespace tune
