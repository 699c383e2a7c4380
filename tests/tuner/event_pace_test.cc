#include "tuner/http/event_pace.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

constexpr Instant kStart{1'000'000'000};

TEST(EventPace, TellsAtOnceWhereNothingWasAsked) {
  EventPace pace;
  EXPECT_TRUE(pace.IsDue(kStart));
  pace.Told(kStart);
  EXPECT_TRUE(pace.IsDue(kStart));
}

TEST(EventPace, WaitsUntilAnswersWereATwentiethOfTheTime) {
  EventPace pace;
  pace.Told(kStart);
  for (int client = 0; client < 3; ++client) pace.Spent(Milliseconds(10));
  EXPECT_FALSE(pace.IsDue(kStart + Milliseconds(599)));
  EXPECT_TRUE(pace.IsDue(kStart + Milliseconds(600)));
  pace.Told(kStart + Milliseconds(700));
  EXPECT_TRUE(pace.IsDue(kStart + Milliseconds(700)));  // What was spent before is paid for.
}

TEST(EventPace, NeverWaitsLongerThanTwoSeconds) {
  EventPace pace;
  pace.Told(kStart);
  pace.Spent(Seconds(5));
  EXPECT_FALSE(pace.IsDue(kStart + Milliseconds(1'999)));
  EXPECT_TRUE(pace.IsDue(kStart + Seconds(2)));
}

}  // namespace
}  // namespace tune
