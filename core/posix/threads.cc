#include "core/posix/threads.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>

namespace tune {

void LetOthersGoFirst() {
  constexpr int kSteps = 5;
  constexpr id_t kThisThread = 0;  // As Linux has it: a nice value is a thread's.
  setpriority(PRIO_PROCESS, kThisThread, getpriority(PRIO_PROCESS, kThisThread) + kSteps);
}

bool WaitUnlessStopped(Duration time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, stop, std::chrono::microseconds(time.us), [] { return false; });
  return !stop.stop_requested();
}

ThreadPatience WaitForThreads() {
  constexpr int kTries = 300;
  static constexpr std::string_view kWaits =
      "tune: the system has no room for a further thread (ulimit -u or -v, a cgroup's pids.max): "
      "waiting up to 30 s for it\n";
  return [tries = 0]() mutable {
    if (tries == 0) {
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kWaits.data(), kWaits.size());
    }
    poll(nullptr, 0, 100);
    return ++tries < kTries;
  };
}

}  // namespace tune
