#include "core/posix/real_clock.h"

#include <sys/random.h>

#include "core/check.h"

namespace tune {

RealClock::RealClock()
    : wall_start_{std::chrono::duration_cast<std::chrono::microseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count()},
      steady_start_(std::chrono::steady_clock::now()) {}

Instant RealClock::Now() const {
  const auto passed = std::chrono::steady_clock::now() - steady_start_;
  return wall_start_ +
         Duration{std::chrono::duration_cast<std::chrono::microseconds>(passed).count()};
}

uint64_t DrawEntropy() {
  uint64_t bits = 0;
  TUNE_CHECK(getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return bits;
}

}  // namespace tune
