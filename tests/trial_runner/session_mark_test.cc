// Whether a worker of this machine lives is told by the kernel's lock on its mark.
#include "trial_runner/worker/session_mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/check.h"
#include "core/posix/real_clock.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SessionMarkTest : public testing::Test {
 protected:
  std::vector<std::string> Ended() const { return EndedSessions(path(), RealClock().Now()); }
  std::string path() const { return folder_ / "."; }

  // A worker that is killed.
  void KillOne(const std::string& session) {
    int pipe_ends[2];
    TUNE_CHECK(pipe(pipe_ends) == 0);
    const pid_t pid = fork();
    TUNE_CHECK(pid >= 0);
    if (pid == 0) {
      const Result<SessionMark> mark = SessionMark::Make(path(), session);
      const char made = mark.ok() ? 'y' : 'n';
      if (write(pipe_ends[1], &made, 1) == 1) pause();
      _exit(1);
    }
    char made = 'n';
    TUNE_CHECK(read(pipe_ends[0], &made, 1) == 1);
    EXPECT_EQ(made, 'y');
    EXPECT_THAT(Ended(), IsEmpty()) << "it lives";
    kill(pid, SIGKILL);
    TUNE_CHECK(waitpid(pid, nullptr, 0) == pid);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
  }

  TempFolder folder_;
};

TEST_F(SessionMarkTest, AKilledWorkersSessionHasEndedAndALivingOnesHasNot) {
  KillOne("0a1b");
  const Result<SessionMark> living = SessionMark::Make(path(), "0c2d");
  ASSERT_TRUE(living.ok()) << living.status().message();
  EXPECT_THAT(Ended(), ElementsAre("0a1b"));
  EXPECT_THAT(Ended(), ElementsAre("0a1b")) << "to be told to other tuners, too";
}

TEST_F(SessionMarkTest, AWorkerThatEndsInOrderLeavesNoMark) {
  {
    const Result<SessionMark> mark = SessionMark::Make(path(), "0a1b");
    ASSERT_TRUE(mark.ok());
    EXPECT_THAT(folder_.List(), ElementsAre("0a1b"));
  }
  EXPECT_THAT(folder_.List(), IsEmpty());
}

TEST_F(SessionMarkTest, MarksOfDaysBeforeAreRemovedAndOtherFilesAreNoSessions) {
  std::ofstream(folder_ / "0a1b") << "";
  std::ofstream(folder_ / "notes.txt") << "";
  EXPECT_THAT(Ended(), ElementsAre("0a1b"));
  EXPECT_THAT(EndedSessions(path(), RealClock().Now() + Seconds(25.0 * 3600)), IsEmpty());
  EXPECT_THAT(folder_.List(), IsEmpty());
  EXPECT_THAT(EndedSessions(folder_ / "nowhere", RealClock().Now()), IsEmpty());
}

TEST_F(SessionMarkTest, AKilledWorkersSessionIsToldHoweverLongItLived) {
  KillOne("0a1b");
  const Instant later = RealClock().Now() + Seconds(30.0 * 86'400);
  EXPECT_THAT(EndedSessions(path(), later), ElementsAre("0a1b"));
  EXPECT_THAT(EndedSessions(path(), later + Seconds(23.0 * 3600)), ElementsAre("0a1b"));
  EXPECT_THAT(EndedSessions(path(), later + Seconds(25.0 * 3600)), IsEmpty());
}

TEST_F(SessionMarkTest, AFolderThatOthersMayWriteIsNotUsed) {
  TUNE_CHECK(setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1) == 0);
  const Result<std::string> made = SessionMarksFolder();
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(*made, folder_ / "tune/workers");
  TUNE_CHECK(chmod((folder_ / "tune").c_str(), 0777) == 0);
  EXPECT_FALSE(SessionMarksFolder().ok());
  unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace
}  // namespace tune
