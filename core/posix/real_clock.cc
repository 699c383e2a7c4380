#include "core/posix/real_clock.h"

#include <sys/random.h>
#include <time.h>

#include "core/check.h"

namespace tune {
namespace {

constexpr int64_t kFollowsBeyondUs = 60'000'000;

int64_t Read(clockid_t clock) {
  timespec time = {};
  TUNE_CHECK(clock_gettime(clock, &time) == 0);
  return int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000;
}

int64_t ReadWall() { return Read(CLOCK_REALTIME); }
int64_t ReadCounted() { return Read(CLOCK_BOOTTIME); }
int64_t ReadAwake() { return Read(CLOCK_MONOTONIC); }

}  // namespace

RealClock::RealClock() : RealClock(Sources{&ReadWall, &ReadCounted}) {}

RealClock::RealClock(Sources sources)
    : sources_(sources), ahead_us_(sources.wall_us() - sources.counted_us()) {}

Instant RealClock::Now() const {
  const int64_t counted = sources_.counted_us();
  const int64_t wall_ahead = sources_.wall_us() - counted;
  int64_t ahead = ahead_us_.load();
  while (wall_ahead - ahead > kFollowsBeyondUs &&
         !ahead_us_.compare_exchange_weak(ahead, wall_ahead)) {
  }
  return Instant{counted + ahead_us_.load()};
}

Instant WallClock::Now() const { return Instant{ReadWall()}; }

AwakeClock::AwakeClock() : ahead_us_(ReadWall() - ReadAwake()) {}

Instant AwakeClock::Now() const { return Instant{ReadAwake() + ahead_us_}; }

uint64_t DrawEntropy() {
  uint64_t bits = 0;
  TUNE_CHECK(getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return bits;
}

}  // namespace tune
