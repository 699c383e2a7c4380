// How a head goes on without what it cannot keep running.
#include "tuner/cli/head/restart_pause.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

constexpr Instant kNow{1'000'000'000};

class RestartPauseTest : public testing::Test {
 protected:
  std::string LookAt(Duration since) {
    return pause_.Look(
        kNow + since,
        [this] {
          ++starts_;
          return start_;
        },
        [this] { return look_; });
  }

  RestartPause pause_{Seconds(60), "a minute"};
  Status start_ = OkStatus();
  Result<std::string> look_ = std::string();
  int starts_ = 0;
};

TEST_F(RestartPauseTest, AProcessThatCannotBeKeptIsStartedAgainAfterThePause) {
  EXPECT_EQ(LookAt(Seconds(0)), "");
  look_ = Internal("the worker ended");
  EXPECT_EQ(LookAt(Seconds(1)), "the worker ended; it is started again in a minute");
  EXPECT_EQ(LookAt(Seconds(60)), "");
  EXPECT_EQ(starts_, 0);
  look_ = std::string();
  EXPECT_EQ(LookAt(Seconds(61)), "");
  EXPECT_EQ(LookAt(Seconds(62)), "");
  EXPECT_EQ(starts_, 1);
}

TEST_F(RestartPauseTest, AStartThatFailsIsTriedAgainAfterEachPauseAndToldOnce) {
  look_ = Unavailable("cannot start it: fork");
  EXPECT_EQ(LookAt(Seconds(0)), "cannot start it: fork; it is started again in a minute");
  start_ = Unavailable("cannot start it: fork");
  look_ = std::string();
  EXPECT_EQ(LookAt(Seconds(60)), "");
  EXPECT_EQ(LookAt(Seconds(119)), "");
  EXPECT_EQ(starts_, 1);
  start_ = Unavailable("no more processes");
  EXPECT_EQ(LookAt(Seconds(120)), "no more processes; it is started again in a minute");
  start_ = OkStatus();
  look_ = std::string("the worker ended; started another one");
  EXPECT_EQ(LookAt(Seconds(180)), "the worker ended; started another one");
  EXPECT_EQ(starts_, 3);
  look_ = Unavailable("no more processes");
  EXPECT_EQ(LookAt(Seconds(181)), "no more processes; it is started again in a minute");
}

}  // namespace
}  // namespace tune
