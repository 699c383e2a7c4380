// How often a local worker that dies is replaced.
#include "tuner/cli/run/restart_limit.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

constexpr Instant kNow{1'000'000'000};

TEST(RestartLimit, OneThatEndsAsSoonAsItStartsIsGivenUp) {
  RestartLimit limit(3, Seconds(60));
  EXPECT_TRUE(limit.MayRestart(kNow, 0));
  EXPECT_TRUE(limit.MayRestart(kNow + Seconds(1), 0));
  EXPECT_TRUE(limit.MayRestart(kNow + Seconds(2), 0));
  EXPECT_FALSE(limit.MayRestart(kNow + Seconds(3), 0));
  EXPECT_EQ(limit.end_count(), 4);
}

TEST(RestartLimit, AReportInBetweenCountsAnew) {
  RestartLimit limit(3, Seconds(60));
  for (int64_t reports = 1; reports <= 100; ++reports) {
    EXPECT_TRUE(limit.MayRestart(kNow, reports));
    EXPECT_TRUE(limit.MayRestart(kNow, reports));
    EXPECT_TRUE(limit.MayRestart(kNow, reports));
  }
  EXPECT_FALSE(limit.MayRestart(kNow, 100));
}

TEST(RestartLimit, EndsLongerAgoThanTheWindowDoNotCount) {
  RestartLimit limit(3, Seconds(60));
  for (int64_t i = 0; i < 100; ++i) EXPECT_TRUE(limit.MayRestart(kNow + Seconds(20 * i), 0)) << i;
  // The window's end does not belong to it.
  RestartLimit one(1, Seconds(60));
  EXPECT_TRUE(one.MayRestart(kNow, 0));
  EXPECT_TRUE(one.MayRestart(kNow + Seconds(60), 0));
  EXPECT_FALSE(one.MayRestart(kNow + Milliseconds(119'999), 0));
}

}  // namespace
}  // namespace tune
