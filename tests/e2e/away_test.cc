// Sweeps without their terminal: signals, a terminal that closes, --detach and attach.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/syscall.h>

#include <cstdlib>

#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/program.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune::testing {
namespace {

// One at a time.
std::string CurveSpace(const std::string& seconds) {
  return CurveSweep("    iterations: 9\n    seconds: " + seconds + "\n",
                    "samples: 4\nlimits: {max_concurrent: 1}\n");
}

std::string Read(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// A program on a terminal of its own, as its session's leader.
class OnTerminal {
 public:
  OnTerminal(const TestFolder& folder, const std::vector<std::string>& arguments) {
    const std::string program = BinDir() + "/tune";
    pid_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    TUNE_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      TUNE_CHECK(chdir(folder.path().c_str()) == 0);
      std::vector<char*> argv = {const_cast<char*>(program.c_str())};
      for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      execv(program.c_str(), argv.data());
      _exit(126);
    }
  }
  ~OnTerminal() {
    if (terminal_ >= 0) close(terminal_);
  }
  pid_t pid() const { return pid_; }
  bool WaitForText(const std::string& text) {
    while (seen_.find(text) == std::string::npos) {
      char bytes[4096];
      const ssize_t size = read(terminal_, bytes, sizeof bytes);
      if (size <= 0) return false;
      seen_.append(bytes, static_cast<size_t>(size));
    }
    return true;
  }
  void Type(const std::string& keys) {
    TUNE_CHECK(write(terminal_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  }
  const std::string& seen() const { return seen_; }
  void CloseTerminal() { close(std::exchange(terminal_, -1)); }
  // Reads what is left, so that nobody waits for room, and returns the exit status.
  int Wait() {
    while (terminal_ >= 0 && WaitForText("\xff")) {
    }
    int status = 0;
    TUNE_CHECK(waitpid(pid_, &status, 0) == pid_);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t pid_;
  int terminal_ = -1;
  std::string seen_;
};

// The pid in "... in the background (pid N); ...".
pid_t PidIn(const std::string& text) {
  const size_t at = text.find("(pid ");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 5);
}

// Waits for the end of a process that is nobody's child here.
void WaitForEndOf(pid_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return;  // It has ended.
  pollfd ended{fd, POLLIN, 0};
  TUNE_CHECK(poll(&ended, 1, -1) == 1);
  close(fd);
}

struct SignalCase {
  int signal;
  int exit_status;
};

class CleanInterruptions : public ::testing::TestWithParam<SignalCase> {};

TEST_P(CleanInterruptions, AreToldAndResumedToTheSameEnd) {
  TestFolder folder;
  const std::string text = CurveSpace("0.02");
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", text)});
  ASSERT_TRUE(tune.WaitForText("trial 0 ended"));
  tune.Signal(GetParam().signal);
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, GetParam().exit_status) << result.err;
  EXPECT_NE(result.out.find("tune resume space"), std::string::npos) << result.out;
  EXPECT_EQ(Query(folder, "select status from experiments"),
            std::vector<std::string>{"INTERRUPTED"});
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(text));
}

INSTANTIATE_TEST_SUITE_P(Table, CleanInterruptions,
                         ::testing::Values(SignalCase{SIGINT, 130}, SignalCase{SIGTERM, 143},
                                           SignalCase{SIGHUP, 129}));

TEST(AwayFromTheTerminal, ASecondCtrlCEndsAtOnceAndLosesNothing) {
  TestFolder folder;
  const std::string text = CurveSpace("0.02");
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", text)});
  ASSERT_TRUE(tune.WaitForText("trial 0 ended"));
  // A worker that hears nothing would keep the first one waiting.
  const pid_t worker = ChildOf(tune.pid(), "tune_worker");
  ASSERT_GT(worker, 0);
  kill(worker, SIGSTOP);
  tune.Signal(SIGINT);
  ASSERT_TRUE(tune.WaitForText("again to stop at once"));
  tune.Signal(SIGINT);
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 130);
  EXPECT_EQ(result.out.find("space INTERRUPTED: "), 0u) << result.out;
  EXPECT_NE(result.out.find("tune resume space"), std::string::npos) << result.out;
  EXPECT_NE(kill(worker, 0), 0) << "the worker is left behind";
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(text));
}

TEST(AwayFromTheTerminal, ALocalWorkerThatIsStoppedIsGivenUpAfterALeaseAndReplaced) {
  TestFolder folder;
  const std::string text = CurveSpace("0.02");
  Program tune(folder, "tune",
               {"run", folder.Write("space.yaml", text), "--set", "limits.lease=1s"});
  ASSERT_TRUE(tune.WaitForText("trial 0 ended"));
  const pid_t worker = ChildOf(tune.pid(), "tune_worker");
  ASSERT_GT(worker, 0);
  kill(worker, SIGSTOP);
  ASSERT_TRUE(tune.WaitForText("the local worker was given up and is killed; started another one"));
  EXPECT_NE(kill(worker, 0), 0);
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(Query(folder, "select count(*) from attempts where outcome = 'lost'"),
            std::vector<std::string>{"1"});
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(text));
}

TEST(AwayFromTheTerminal, AClosedTerminalIsACleanInterruption) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace("0.02"));
  OnTerminal tune(folder, {"run", "space.yaml"});
  ASSERT_TRUE(tune.WaitForText("/4 trials ended"));
  tune.CloseTerminal();
  EXPECT_EQ(tune.Wait(), 129);
  EXPECT_EQ(Query(folder, "select status from experiments"),
            std::vector<std::string>{"INTERRUPTED"});
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
}

TEST(AwayFromTheTerminal, CtrlCOnATerminalReachesTheSweepAndNotItsWorker) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace("0.02"));
  OnTerminal tune(folder, {"run", "space.yaml"});
  ASSERT_TRUE(tune.WaitForText("/4 trials ended"));
  tune.Type("\x03");
  EXPECT_EQ(tune.Wait(), 130);
  EXPECT_EQ(tune.seen().find("the local worker ended"), std::string::npos) << tune.seen();
  EXPECT_EQ(Query(folder, "select count(*) from attempts where outcome = 'crashed'"),
            std::vector<std::string>{"0"});
}

TEST(Detach, TheSweepOutlivesItsTerminalAndCanBeAttachedTo) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace("0.05"));
  OnTerminal terminal(folder, {"run", "space.yaml", "--detach"});
  ASSERT_TRUE(terminal.WaitForText("ends it"));
  EXPECT_EQ(terminal.Wait(), 0);
  const pid_t pid = PidIn(terminal.seen());
  EXPECT_NE(terminal.seen().find("sweep space: seed 11"), std::string::npos) << terminal.seen();
  terminal.CloseTerminal();
  ASSERT_GT(pid, 0);
  EXPECT_EQ(getsid(pid), pid);
  const auto holder = FindLockHolder(folder / "tune.db");
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->pid, pid);
  EXPECT_EQ(holder->experiment, "space");

  const ProgramResult watched = RunTune(folder, {"attach"});
  EXPECT_EQ(watched.exit_status, 0) << watched.err;
  EXPECT_NE(watched.err.find("trial 3 ended (completed) after 9 iterations"), std::string::npos)
      << watched.err;
  EXPECT_NE(watched.out.find("space FINISHED: 4 trials"), std::string::npos) << watched.out;
  WaitForEndOf(pid);
  const std::string log = Read(folder / "tune.artifacts/space/tuner.log");
  EXPECT_NE(log.find("trial 3 ended"), std::string::npos) << log;
  EXPECT_NE(log.find("space FINISHED"), std::string::npos) << log;
  EXPECT_FALSE(std::filesystem::exists(folder / "tune.db.lock"));
}

TEST(Detach, NothingOfItHoldsTheCallersStreams) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace("0.05"));
  // Wait reads standard error to its end, which comes when nobody can write to it any more.
  const ProgramResult begun = RunTune(folder, {"run", "space.yaml", "--detach"});
  EXPECT_EQ(begun.exit_status, 0) << begun.err;
  EXPECT_EQ(Query(folder, "select status from experiments"), std::vector<std::string>{"RUNNING"});
  kill(PidIn(begun.out), SIGTERM);
  WaitForEndOf(PidIn(begun.out));
  EXPECT_EQ(Query(folder, "select status from experiments"),
            std::vector<std::string>{"INTERRUPTED"});

  const ProgramResult resumed = RunTune(folder, {"resume", "--detach"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("going on from"), std::string::npos) << resumed.err;
  EXPECT_EQ(resumed.err.find("seed 11"), std::string::npos) << "an earlier life's: " << resumed.err;
  const ProgramResult watched = RunTune(folder, {"attach", "space"});
  EXPECT_EQ(watched.exit_status, 0) << watched.err;
  WaitForEndOf(PidIn(resumed.out));
}

TEST(Detach, WhatIsWrongIsToldAsInTheForeground) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace("0.05"));
  folder.Write("bad.yaml", "metric: loss\n");
  const ProgramResult bad = RunTune(folder, {"run", "bad.yaml", "--detach"});
  EXPECT_EQ(bad.exit_status, 2);
  EXPECT_NE(bad.err.find("bad.yaml"), std::string::npos) << bad.err;
  EXPECT_EQ(RunTune(folder, {"resume", "--detach"}).exit_status, 2);
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"bad.yaml", "space.yaml"}));

  Program tune(folder, "tune", {"run", "space.yaml"});
  ASSERT_TRUE(tune.WaitForText("trial 0 ended"));
  for (const std::string verb : {"run", "resume"}) {
    std::vector<std::string> arguments = {verb, "--detach"};
    if (verb == "run") arguments.push_back("space.yaml");
    const ProgramResult second = RunTune(folder, arguments);
    EXPECT_EQ(second.exit_status, 1);
    EXPECT_NE(second.err.find("pid " + std::to_string(tune.pid())), std::string::npos)
        << second.err;
    EXPECT_EQ(second.out, "");
  }
  EXPECT_TRUE(Succeeded(tune.Wait()));
  const ProgramResult over = RunTune(folder, {"resume", "--detach"});
  EXPECT_TRUE(Succeeded(over));
  EXPECT_NE(over.err.find("nothing to resume"), std::string::npos) << over.err;
}

TEST(Attach, CtrlCLeavesTheSweepRunning) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace("0.05"));
  Program tune(folder, "tune", {"run", "space.yaml"});
  ASSERT_TRUE(tune.WaitForText("trial 0 ended"));
  Program attach(folder, "tune", {"attach"});
  ASSERT_TRUE(attach.WaitForText("trial 1 ended"));
  attach.Signal(SIGINT);
  const ProgramResult left = attach.Wait();
  EXPECT_EQ(left.exit_status, 130);
  EXPECT_NE(left.err.find("the sweep goes on"), std::string::npos) << left.err;
  EXPECT_EQ(left.out, "");
  EXPECT_TRUE(Succeeded(tune.Wait()));
}

TEST(Attach, EndsAsTheSweepDid) {
  TestFolder folder;
  EXPECT_EQ(RunTune(folder, {"attach"}).exit_status, 2);
  folder.Write("space.yaml", CurveSpace("0.05\n    crash: 0.2"));
  Program tune(folder, "tune", {"run", "space.yaml"});
  ASSERT_TRUE(tune.WaitForText("trial 0"));
  Program attach(folder, "tune", {"attach"});
  ASSERT_TRUE(attach.WaitForText("attached to space"));
  const int exit_status = tune.Wait().exit_status;
  const ProgramResult watched = attach.Wait();
  EXPECT_EQ(exit_status, 3);
  EXPECT_EQ(watched.exit_status, 3) << watched.err;
  EXPECT_NE(watched.out.find("failed"), std::string::npos) << watched.out;
  const ProgramResult later = RunTune(folder, {"attach"});
  EXPECT_EQ(later.exit_status, 3);
  EXPECT_EQ(later.err, "");
  EXPECT_EQ(RunTune(folder, {"attach", "spade"}).exit_status, 2);
}

TEST(Attach, ATunerThatIsKilledEndsItWithTheWayToGoOn) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace("0.05"));
  Program tune(folder, "tune", {"run", "space.yaml"});
  ASSERT_TRUE(tune.WaitForText("trial 0 ended"));
  Program attach(folder, "tune", {"attach"});
  ASSERT_TRUE(attach.WaitForText("attached to space"));
  tune.Signal(SIGKILL);
  tune.Wait();
  const ProgramResult watched = attach.Wait();
  EXPECT_EQ(watched.exit_status, 1);
  EXPECT_NE(watched.out.find("space INTERRUPTED"), std::string::npos) << watched.out;
  EXPECT_NE(watched.out.find("tune resume space"), std::string::npos) << watched.out;
}

TEST(Resume, AnotherSpaceIsRefusedWithTheDifference) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace("0"));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", "space.yaml", "--samples", "2"})));
  std::string other = CurveSpace("0");
  other.replace(other.find("[0, 1]"), 6, "[0, 2]");
  folder.Write("other.yaml", other);
  const ProgramResult refused =
      RunTune(folder, {"resume", "--samples", "4", "--space", "other.yaml"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_NE(refused.err.find("space.x.uniform[1]: 1 is stored, the file has 2"), std::string::npos)
      << refused.err;
  EXPECT_EQ(Query(folder, "select count(*) from trials"), std::vector<std::string>{"2"});
  EXPECT_EQ(
      RunTune(folder, {"resume", "--samples", "4", "--space", "space.yaml", "--set", "mode=max"})
          .exit_status,
      2);
  EXPECT_EQ(RunTune(folder, {"resume", "--samples", "4", "--set", "mode=max"}).exit_status, 2);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume", "--samples", "4", "--space", "space.yaml"})));
  EXPECT_EQ(Query(folder, "select count(*) from trials"), std::vector<std::string>{"4"});
}

TEST(Run, WhatWouldBeTakenForAnOptionOrContradictsItselfIsRefused) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace("0"));
  EXPECT_EQ(RunTune(folder, {"run", "space.yaml", "--name", "-x"}).exit_status, 2);
  EXPECT_EQ(RunTune(folder, {"run", "space.yaml", "--try-one", "--dry-run"}).exit_status, 2);
  EXPECT_EQ(RunTune(folder, {"run", "space.yaml", "--try-one", "--detach"}).exit_status, 2);
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"space.yaml"}) << "nothing was begun";
}

}  // namespace
}  // namespace tune::testing
