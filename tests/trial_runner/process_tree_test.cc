// All that was started is found and ended, wherever it went; on real processes.
#include "trial_runner/worker/process_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/process_end.h"
#include "tests/trial_runner/shell.h"

namespace tune {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

class ProcessTree : public testing::Test {
 protected:
  void SetUp() override {
    if (!AdoptOrphans()) GTEST_SKIP() << "this system lets nobody adopt orphans";
  }
  void TearDown() override { EndDescendants(); }
};

// Each writes its pid and then waits: a plain child, one in a session of its own, an orphan, and an
// orphan in a session of its own that ignores what can be ignored.
constexpr char kFamily[] =
    "sh -c 'echo $$; exec sleep 1000' &\n"
    "setsid sh -c 'echo $$; exec sleep 1000' &\n"
    "(sh -c 'echo $$; exec sleep 1000' &)\n"
    "(setsid sh -c \"trap '' TERM HUP INT; echo \\$\\$; exec sleep 1000\" &)\n"
    "wait\n";

TEST_F(ProcessTree, FindsAndEndsAlsoWhatHasLeftItsParentAndItsSession) {
  Shell shell(kFamily);
  std::vector<pid_t> pids = {shell.pid()};
  for (int i = 0; i < 4; ++i) pids.push_back(std::stoi(shell.Line()));
  const std::vector<pid_t> found = Descendants();
  std::vector<AwaitedEnd> ends;
  for (const pid_t pid : pids) {
    EXPECT_THAT(found, Contains(pid));
    ends.emplace_back(pid);
    EXPECT_FALSE(ends.back().IsThere());
  }
  EXPECT_TRUE(EndDescendants());
  for (const AwaitedEnd& end : ends) EXPECT_TRUE(end.IsThere()) << "when it returns";
  EXPECT_THAT(Descendants(), IsEmpty());
}

TEST_F(ProcessTree, ARoundSaysWhetherSomebodyWasLeft) {
  Shell shell(kFamily);
  for (int i = 0; i < 4; ++i) shell.Line();
  EXPECT_FALSE(EndDescendantsOnce());
  while (!EndDescendantsOnce()) std::this_thread::yield();
  EXPECT_THAT(Descendants(), IsEmpty());
}

TEST_F(ProcessTree, EndsThoseThatAreStartedMeanwhile) {
  Shell shell("while :; do setsid sh -c 'echo .; exec sleep 1000' & done");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(shell.Line(), ".");
  EXPECT_TRUE(EndDescendants());
  EXPECT_THAT(Descendants(), IsEmpty());
}

TEST_F(ProcessTree, WhatIsSparedStaysWithAllThatIsBelowIt) {
  Shell spared("sh -c 'echo $$; exec sleep 1000' & wait");
  Shell other("(setsid sh -c 'echo $$; exec sleep 1000' &)\n wait");
  const AwaitedEnd child(std::stoi(spared.Line()));
  const AwaitedEnd orphan(std::stoi(other.Line()));
  EXPECT_TRUE(EndDescendants({spared.pid()}));
  EXPECT_TRUE(orphan.IsThere());
  EXPECT_FALSE(child.IsThere());
  EXPECT_FALSE(AwaitedEnd(spared.pid()).IsThere());
  // Its end is still there to be asked for; that of the other was taken.
  EXPECT_EQ(waitpid(spared.pid(), nullptr, WNOHANG), 0);
  EXPECT_EQ(waitpid(other.pid(), nullptr, WNOHANG), -1);
}

TEST_F(ProcessTree, ASignalReachesEachOfThemOnce) {
  Shell shell(
      "setsid sh -c 'trap \"echo deep; exit\" TERM; echo ready; while :; do sleep 1000 & wait; "
      "done' &\n"
      "trap 'echo here' TERM; echo ready; wait $!; wait $!");
  EXPECT_EQ(shell.Line(), "ready");
  EXPECT_EQ(shell.Line(), "ready");
  SignalDescendants(SIGTERM);
  const std::vector<std::string> lines = {shell.Line(), shell.Line()};
  EXPECT_THAT(lines, testing::UnorderedElementsAre("here", "deep"));
}

TEST_F(ProcessTree, KnowsHowOneEndedAndTakesLeaveOfTheOthers) {
  Shell other("exit 4");
  Shell wanted("exit 3");
  ASSERT_TRUE(AwaitedEnd(other.pid()).Comes());
  ASSERT_TRUE(AwaitedEnd(wanted.pid()).Comes());
  const std::optional<int> status = ReapEnded(wanted.pid());
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(WEXITSTATUS(*status), 3);
  EXPECT_EQ(ReapEnded(other.pid()), std::nullopt);
  EXPECT_THAT(Descendants(), IsEmpty());
}

TEST_F(ProcessTree, OneThatRunsHasNoStatus) {
  Shell shell("echo; exec sleep 1000");
  shell.Line();
  EXPECT_EQ(ReapEnded(shell.pid()), std::nullopt);
}

TEST_F(ProcessTree, WithoutDescendantsThereIsNothingToDo) {
  EXPECT_THAT(Descendants(), IsEmpty());
  SignalDescendants(SIGKILL);
  EXPECT_TRUE(EndDescendants());
}

}  // namespace
}  // namespace tune
