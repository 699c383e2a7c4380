// What a signal asks of a sweep, and what one that comes again does.
#include "tuner/cli/words/signal_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <variant>
#include <vector>

#include "core/posix/real_clock.h"

namespace tune {
namespace {

class SignalWatchTest : public testing::Test {
 protected:
  // Signals the program and waits until that has come.
  void Signal(int signal) {
    kill(getpid(), signal);
    std::vector<HeadEvent> events;
    while (events.empty()) {
      queue_.Wait(clock_, std::nullopt);
      events = queue_.Drain(1);
    }
    EXPECT_TRUE(std::holds_alternative<InterruptRequested>(events[0].event));
  }

  const RealClock clock_;
  EventQueue queue_;
  SignalWatch watch_{queue_};
};

// As timeout(1) does: the program, and then its group.
TEST_F(SignalWatchTest, TwoThatComeBeforeTheFirstIsToldAreOne) {
  EXPECT_EQ(watch_.exit_status(), 0);
  Signal(SIGTERM);
  Signal(SIGTERM);
  EXPECT_FALSE(watch_.came_again());
  watch_.Tell();
  EXPECT_FALSE(watch_.came_again());
  EXPECT_EQ(watch_.exit_status(), 143);
}

TEST_F(SignalWatchTest, OneThatComesOnceTheFirstIsToldComesAgain) {
  Signal(SIGINT);
  watch_.Tell();
  EXPECT_FALSE(watch_.came_again());
  Signal(SIGTERM);
  EXPECT_TRUE(watch_.came_again());
  EXPECT_EQ(watch_.exit_status(), 130) << "of the first";
}

}  // namespace
}  // namespace tune
