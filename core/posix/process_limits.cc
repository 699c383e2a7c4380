#include "core/posix/process_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

namespace tune {
namespace {

// Where the hard limit has no end, some programs that walk through all descriptors take minutes.
constexpr rlim_t kRaisedMax = 1u << 20;

rlim_t soft_limit_before = 0;  // 0: it was not raised.

void Say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

[[noreturn]] void EndWith(std::string_view line) {
  Say(line);
  _exit(1);
}

void SayWhat(const std::exception& error) {
  Say("tune: ");
  Say(error.what());
  Say("\n");
}

// Of an exception that nobody has caught, on any thread; it allocates nothing.
[[noreturn]] void EndWithoutRoom() {
  try {
    if (const std::exception_ptr exception = std::current_exception()) {
      std::rethrow_exception(exception);
    }
  } catch (const std::bad_alloc&) {
    EndWith(
        "tune: the system has no memory left for this process (ulimit -v, a cgroup's limit); what "
        "was acknowledged is stored: give it more and start it again, a sweep by tune resume\n");
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      EndWith(
          "tune: the system has no room for a thread of this process (ulimit -u or -v, a cgroup's "
          "pids.max); what was acknowledged is stored: give it more and start it again, a sweep by "
          "tune resume\n");
    }
    SayWhat(error);
  } catch (const std::exception& error) {
    SayWhat(error);
  } catch (...) {
  }
  std::abort();
}

}  // namespace

void MeetLimits() {
  std::set_terminate(EndWithoutRoom);
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, std::max(kRaisedMax, limit.rlim_cur));
  if (wanted <= limit.rlim_cur) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) soft_limit_before = before;
}

void RestoreLimits() {
  signal(SIGXFSZ, SIG_DFL);
  rlimit limit = {};
  if (soft_limit_before == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min(soft_limit_before, limit.rlim_max);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int64_t DescriptorLimit() {
  rlimit limit = {};
  constexpr int64_t kUnknown = 1024;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kUnknown;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kRaisedMax));
}

}  // namespace tune
