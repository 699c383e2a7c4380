// Threads where the system may have no room for one more at the moment: the user's processes
// (ulimit -u, a cgroup's pids.max) or the address space (ulimit -v).
//
// Thread rule: any thread.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "core/time.h"

namespace tune {

// Called between two tries; false: no further one is made.
using ThreadPatience = std::function<bool()>;

// The thread that calls lets others of the machine go first (5 steps of nice), where it moves much
// and nobody waits for the next microsecond.
void LetOthersGoFirst();

// Waits so long, or until `stop` is requested; false then.
bool WaitUnlessStopped(Duration time, const std::stop_token& stop);

// 30 s, a tenth of a second between two tries; says on standard error that it waits.
ThreadPatience WaitForThreads();

// `run` takes the thread's std::stop_token where Thread is a std::jthread that may be asked to end.
// Returns nothing where there was no room for it.
template <typename Thread = std::thread, typename Run>
std::optional<Thread> TryThread(Run run, const ThreadPatience& patience) {
  const auto kept = std::make_shared<Run>(std::move(run));  // A thread that did not begin took it.
  for (;;) {
    try {
      if constexpr (std::invocable<Run&, std::stop_token>) {
        return Thread([kept](std::stop_token stop) { (*kept)(std::move(stop)); });
      } else {
        return Thread([kept] { (*kept)(); });
      }
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::resource_unavailable_try_again) throw;
      if (!patience()) return std::nullopt;
    }
  }
}

// The process cannot go on without it: after half a minute without room it ends as one that has no
// memory left (MeetLimits).
template <typename Thread = std::thread, typename Run>
Thread BeginThread(Run run) {
  std::optional<Thread> thread = TryThread<Thread>(std::move(run), WaitForThreads());
  if (!thread) {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  return *std::move(thread);
}

}  // namespace tune
