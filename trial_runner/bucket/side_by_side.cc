#include "trial_runner/bucket/side_by_side.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "core/posix/threads.h"

namespace tune {

Status SideBySide(size_t count, size_t at_once, const std::stop_token& stop,
                  const std::function<Status(size_t, const std::stop_token&)>& run) {
  std::mutex mutex;
  size_t next = 0;
  Status first_error;
  std::stop_source all;
  const std::stop_callback on_stop(stop, [&all] { all.request_stop(); });
  const auto work = [&] {
    while (true) {
      size_t index = 0;
      {
        const std::lock_guard lock(mutex);
        if (next == count || !first_error.ok()) return;
        index = next++;
      }
      Status done = run(index, all.get_token());
      if (done.ok()) continue;
      const std::lock_guard lock(mutex);
      if (first_error.ok()) first_error = std::move(done);
      all.request_stop();
    }
  };
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < std::min(count, at_once); ++i) {
    std::optional<std::jthread> thread = TryThread<std::jthread>(work, [] { return false; });
    if (!thread) break;  // Those that there are do it.
    threads.push_back(*std::move(thread));
  }
  work();
  threads.clear();
  return first_error;
}

}  // namespace tune
