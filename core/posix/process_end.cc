#include "core/posix/process_end.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <sstream>
#include <string>
#include <string_view>

#include "core/posix/read_bytes.h"

namespace tune {
namespace {

bool IsGone(int64_t pid) { return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH; }

// Whether SIGKILL was sent and has not ended it yet: /proc/PID/status, masks in hexadecimal.
bool HasKillPending(const std::string& status) {
  for (const std::string_view key : {"\nSigPnd:\t", "\nShdPnd:\t"}) {
    const size_t at = status.find(key);
    if (at == std::string::npos) continue;
    uint64_t mask = 0;
    const char* const begin = status.data() + at + key.size();
    std::from_chars(begin, status.data() + status.size(), mask, 16);
    if ((mask >> (SIGKILL - 1) & 1) != 0) return true;
  }
  return false;
}

}  // namespace

bool IsEnding(int64_t pid) {
  if (pid <= 0) return false;
  if (IsGone(pid)) return true;
  const std::string place = "/proc/" + std::to_string(pid);
  const std::string stat = ReadBytes(place + "/stat");
  const size_t name_end = stat.rfind(')');                // The name before may hold anything.
  if (name_end == std::string::npos) return IsGone(pid);  // Meanwhile.
  std::istringstream fields(stat.substr(name_end + 1));
  constexpr uint64_t kExiting = 0x4;  // PF_EXITING.
  std::string state;
  int64_t parent, group, session, terminal, terminal_group;
  uint64_t flags = 0;
  fields >> state >> parent >> group >> session >> terminal >> terminal_group >> flags;
  return state == "Z" || state == "X" || (flags & kExiting) != 0 ||
         HasKillPending(ReadBytes(place + "/status"));
}

std::string ProcessNumbers() {
  char target[64];
  const ssize_t length = readlink("/proc/self/ns/pid", target, sizeof target);
  return length <= 0 ? "" : std::string(target, static_cast<size_t>(length));
}

}  // namespace tune
