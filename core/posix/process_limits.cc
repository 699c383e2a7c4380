#include "core/posix/process_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>

namespace tune {
namespace {

// Where the hard limit has no end, some programs that walk through all descriptors take minutes.
constexpr rlim_t kRaisedMax = 1u << 20;

rlim_t soft_limit_before = 0;  // 0: it was not raised.

}  // namespace

void MeetLimits() {
  signal(SIGXFSZ, SIG_IGN);
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
