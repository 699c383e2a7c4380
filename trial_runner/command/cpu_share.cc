#include "trial_runner/command/cpu_share.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace tune {
namespace {

std::vector<int64_t> UsableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int64_t> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// Closed: another has it.
FileDescriptor TakeName(int64_t cpu) {
  const std::string name = "tune-cpu-" + std::to_string(geteuid()) + "-" + std::to_string(cpu);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // A zero byte before it: abstract.
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  FileDescriptor holder(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool is_taken =
      holder.is_open() &&
      bind(holder.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0;
  return is_taken ? std::move(holder) : FileDescriptor();
}

}  // namespace

CpuShare CpuShare::Take(int64_t count) {
  const std::vector<int64_t> usable = UsableCpus();
  CpuShare share;
  if (count < 1 || count >= static_cast<int64_t>(usable.size())) return share;
  for (const int64_t cpu : usable) {
    FileDescriptor name = TakeName(cpu);
    if (!name.is_open()) continue;
    share.cpus_.push_back(cpu);
    share.names_.push_back(std::move(name));
    if (static_cast<int64_t>(share.cpus_.size()) == count) return share;
  }
  return CpuShare();
}

}  // namespace tune
