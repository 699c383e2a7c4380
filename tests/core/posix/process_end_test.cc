#include "core/posix/process_end.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tune {
namespace {

TEST(ProcessEnd, AKilledProcessIsEndingBeforeAndAfterItsParentHasWaited) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  EXPECT_FALSE(IsEnding(child));
  EXPECT_FALSE(IsEnding(getpid()));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  EXPECT_TRUE(IsEnding(child));  // At once, however long it takes.
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(IsEnding(child));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(IsEnding(child));
}

TEST(ProcessEnd, AProcessOfSomebodyElseLives) {
  EXPECT_FALSE(IsEnding(1));
  EXPECT_FALSE(IsEnding(0));
}

}  // namespace
}  // namespace tune
