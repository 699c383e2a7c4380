// The machine's time: the wall clock read once, then carried on by the monotonic one, so that a
// step of the wall clock during a sweep moves nothing.
#pragma once

#include <chrono>

#include "core/clock.h"

namespace tune {

class RealClock final : public Clock {
 public:
  RealClock();
  Instant Now() const override;

 private:
  Instant wall_start_;
  std::chrono::steady_clock::time_point steady_start_;
};

// 64 bits from the operating system, for the seed of a sweep that names none.
uint64_t DrawEntropy();

}  // namespace tune
