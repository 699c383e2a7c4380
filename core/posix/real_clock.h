// The machine's time: the wall clock read once, then carried on by one that nobody sets, so that a
// small step of the wall clock moves nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/clock.h"

namespace tune {

// UTC. Time in which the machine was suspended counts. Where the wall clock is more than a minute
// ahead, because it was wrong when we began or the machine was paused from outside, this clock
// follows it; it never goes back.
class RealClock final : public Clock {
 public:
  // Where the time comes from, in microseconds: a clock that people set, and one that counts on.
  struct Sources {
    int64_t (*wall_us)();
    int64_t (*counted_us)();
  };

  RealClock();
  explicit RealClock(Sources sources);
  Instant Now() const override;

 private:
  Sources sources_;
  mutable std::atomic<int64_t> ahead_us_;  // Of the counted time; only grows.
};

// The machine's wall clock as it is now, for dates that others check. Unlike other clocks it goes
// back where it is set back.
class WallClock final : public Clock {
 public:
  Instant Now() const override;
};

// Stands still while the machine is suspended: for patience with processes of this machine, which
// do not run meanwhile either. It begins as the wall clock.
class AwakeClock final : public Clock {
 public:
  AwakeClock();
  Instant Now() const override;

 private:
  int64_t ahead_us_;
};

// 64 bits from the operating system, for the seed of a sweep that names none.
uint64_t DrawEntropy();

}  // namespace tune
