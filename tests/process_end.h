// Waiting for the end of a process that is no child of ours, by its pidfd: no pid is looked up
// twice.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/posix/file_descriptor.h"

namespace tune {

class AwaitedEnd {
 public:
  // Of one that lives, or has just ended.
  explicit AwaitedEnd(pid_t pid) : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

  // Whether it has ended, now or soon; half a minute is given to a slow machine.
  bool Comes() const { return IsThere(30'000); }
  bool IsThere(int wait_ms = 0) const {
    pollfd end = {fd_.get(), POLLIN, 0};
    return !fd_.is_open() || poll(&end, 1, wait_ms) == 1;
  }

 private:
  FileDescriptor fd_;
};

}  // namespace tune
