// A process that has done its work ends, also where something of it does not.
#include "tuner/cli/words/exit_limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace tune {
namespace {

TEST(ExitLimitDeathTest, WhatDoesNotCloseIsLeftWithTheStatusThatWasEarned) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ExitLimit limit;
        limit.Begin(3, Milliseconds(1), "left as it is");
        for (;;) pause();
      },
      testing::ExitedWithCode(3), "left as it is");
}

TEST(ExitLimitDeathTest, WhatClosesInTimeIsHeardNoMoreOf) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        {
          ExitLimit limit;
          limit.Begin(3, Seconds(1000), "left as it is");
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST(ExitLimit, WithoutABeginningNothingIsLimited) { ExitLimit limit; }

}  // namespace
}  // namespace tune
