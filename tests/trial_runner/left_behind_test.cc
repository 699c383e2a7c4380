// What trials left behind is told from what a living worker has below it; on real processes.
#include "trial_runner/worker/left_behind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/process_end.h"
#include "tests/trial_runner/shell.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// No folder needs to be there.
std::string Artifacts() { return "/nowhere/" + std::to_string(getpid()) + ".artifacts"; }

// A process in a session of its own with the environment of a trial. Its parent is a shell, called
// `parent`, that waits for it.
class TrialsProcess {
 public:
  explicit TrialsProcess(const std::string& dir, const std::string& more = "TUNE_SOCKET=/s",
                         const std::string& parent = "sh")
      // It waits by itself: what is becoming another program has no environment for a moment.
      : shell_("printf " + parent +
               " > /proc/$$/comm; f=$(mktemp -u); mkfifo $f; exec 9<>$f; rm $f; setsid env "
               "TUNE_DIR=" +
               dir + " " + more + " sh -c 'echo $$; read line <&9' & wait"),
        pid_(std::stoi(shell_.Line())),
        end_(pid_) {}
  ~TrialsProcess() {
    kill(pid_, SIGKILL);
    waitpid(shell_.pid(), nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  bool HasEnded() const { return end_.IsThere(); }
  bool Ends() const { return end_.Comes(); }

 private:
  Shell shell_;
  pid_t pid_;
  AwaitedEnd end_;
};

TEST(LeftBehind, ProcessesOfTrialsBelowTheFolderAreEndedAndNamed) {
  const TrialsProcess of_trial(Artifacts() + "/sweep/0");
  const std::vector<std::string> ended = EndLeftBehind(Artifacts());
  EXPECT_THAT(ended, ElementsAre(StartsWith(std::to_string(of_trial.pid()) + " (")));
  EXPECT_TRUE(of_trial.Ends());
  EXPECT_THAT(EndLeftBehind(Artifacts()), IsEmpty());
}

TEST(LeftBehind, OtherProcessesStay) {
  const TrialsProcess of_other_database(Artifacts() + "2/sweep/0");
  const TrialsProcess by_hand(Artifacts() + "/sweep/0", "");
  EXPECT_THAT(EndLeftBehind(Artifacts()), IsEmpty());
  EXPECT_FALSE(of_other_database.HasEnded());
  EXPECT_FALSE(by_hand.HasEnded());
}

TEST(LeftBehind, WhatALivingWorkerHasBelowItStays) {
  for (const std::string name : {"tune_worker", "tune_trial_comm"}) {
    const TrialsProcess running(Artifacts() + "/sweep/0", "TUNE_SOCKET=/s", name);
    EXPECT_THAT(EndLeftBehind(Artifacts()), IsEmpty()) << name;
    EXPECT_FALSE(running.HasEnded()) << name;
  }
}

}  // namespace
}  // namespace tune
