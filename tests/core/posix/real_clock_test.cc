// What our clock shows where the machine's clocks jump.
#include "core/posix/real_clock.h"

#include <gtest/gtest.h>

#include "core/time.h"

namespace tune {
namespace {

int64_t wall_us = 0;
int64_t counted_us = 0;

class RealClockTest : public ::testing::Test {
 protected:
  RealClockTest() {
    wall_us = kBegin.us;
    counted_us = 5'000'000;
  }
  void Pass(Duration time) {
    wall_us += time.us;
    counted_us += time.us;
  }

  static constexpr Instant kBegin{1'000'000'000'000};
  static constexpr RealClock::Sources kSources{[] { return wall_us; }, [] { return counted_us; }};
};

TEST_F(RealClockTest, SmallStepsOfTheWallClockMoveNothing) {
  const RealClock clock(kSources);
  Pass(Seconds(10));
  wall_us += Seconds(50).us;
  EXPECT_EQ(clock.Now(), kBegin + Seconds(10));
  wall_us -= Seconds(100).us;
  EXPECT_EQ(clock.Now(), kBegin + Seconds(10));
}

TEST_F(RealClockTest, AClockThatIsSetRightAfterABootIsFollowed) {
  const RealClock clock(kSources);
  Pass(Seconds(10));
  wall_us += Seconds(86'400).us;
  EXPECT_EQ(clock.Now(), kBegin + Seconds(86'410));
  Pass(Seconds(10));
  EXPECT_EQ(clock.Now(), kBegin + Seconds(86'420));
}

TEST_F(RealClockTest, AClockThatIsSetBackTakesUsNotBack) {
  const RealClock clock(kSources);
  wall_us -= Seconds(86'400).us;
  Pass(Seconds(10));
  EXPECT_EQ(clock.Now(), kBegin + Seconds(10));
}

TEST_F(RealClockTest, AllClocksBeginAsTheWallClock) {
  const Instant real = RealClock().Now();
  const Instant awake = AwakeClock().Now();
  const Instant wall = WallClock().Now();
  EXPECT_GE(wall + Seconds(3600), real);
  EXPECT_GE(real + Seconds(3600), wall);
  EXPECT_GE(awake + Seconds(3600), real);
  EXPECT_GE(real + Seconds(3600), awake);
}

}  // namespace
}  // namespace tune
