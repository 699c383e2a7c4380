#include "core/posix/process_end.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "core/posix/read_bytes.h"

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

TEST(ProcessEnd, AProcessThatGoesWhileItIsLookedAtIsEnding) {
  for (int i = 0; i < 300; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    std::thread waits([child] { waitpid(child, nullptr, 0); });
    while (!IsEnding(child)) {
    }
    waits.join();
    EXPECT_TRUE(IsEnding(child));
  }
}

TEST(ReadBytes, WhatCannotBeReadIsEmpty) {
  EXPECT_EQ(ReadBytes("/proc"), "") << "a folder";
  EXPECT_EQ(ReadBytes("/proc/self/mem"), "") << "nothing is there at its beginning";
  EXPECT_EQ(ReadBytes("/no/such/file"), "");
}

TEST(ReadBytes, AFileIsReadToItsEnd) {
  const std::string path = testing::TempDir() + "read_bytes_test";
  const std::string text(100'000, 'x');
  std::ofstream(path) << text << "end";
  EXPECT_EQ(ReadBytes(path), text + "end");
  EXPECT_EQ(ReadBytes(path, 100'000), "end");
  EXPECT_EQ(unlink(path.c_str()), 0);
  EXPECT_NE(ReadBytes("/proc/self/status").find("Pid:"), std::string::npos);
}

}  // namespace
}  // namespace tune
