// The seam to time. The real one is core/posix/real_clock.h; tests and the simulator bring their
// own.
#pragma once

#include "core/time.h"

namespace tune {

class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes backwards within a process. May be called from any thread.
  virtual Instant Now() const = 0;
};

}  // namespace tune
