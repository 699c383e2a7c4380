// kill -9 of any process at any moment: the sweep is resumed and ends with the answer of one left
// alone, nothing acknowledged is lost, nothing is left behind. bench/kill has the long runs.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/e2e/kill_runs.h"
#include "tests/e2e/program.h"
#include "tests/process_end.h"

namespace tune::testing {
namespace {

// Another seed is tried with TUNE_KILL_SEED.
uint64_t Seed() {
  const char* const seed = std::getenv("TUNE_KILL_SEED");
  return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
}

std::string WitnessProgram() {
  return std::string(std::getenv("TUNE_BUILD_DIR")) + "/tests/tune_witness_trial";
}

void KillAndLook(const KillSweep& sweep, const std::string& witness, int64_t run_count) {
  TestFolder folder;
  KillRuns runs(sweep, BinDir(), witness, folder.path(), Seed());
  ASSERT_EQ(runs.findings(), std::vector<std::string>()) << sweep.name << ", left alone";
  for (int64_t number = 1; number <= run_count; ++number) {
    const KillRun run = runs.Run(number);
    EXPECT_EQ(run.findings, std::vector<std::string>())
        << sweep.name << ", seed " << Seed() << ", run " << number << ":\n"
        << run.story;
  }
}

TEST(Kill, WhereTheOrderIsFixedTheAnswerIsThatOfASweepLeftAlone) {
  for (const KillSweep& sweep : FixedOrderSweeps()) KillAndLook(sweep, WitnessProgram(), 2);
}

TEST(Kill, WithAshaAtFourNoDecisionChangesAndTheJournalReplaysToTheRows) {
  for (const KillSweep& sweep : AshaAtFourSweeps()) KillAndLook(sweep, WitnessProgram(), 1);
}

TEST(Kill, WhatATunerLeavesThatIsKilledAfterItsLastCommitGoesWithTheNextResume) {
  TestFolder folder;
  ASSERT_TRUE(
      Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", FixedOrderSweeps()[1].space)})));
  std::filesystem::create_directories(folder / "tune.artifacts");
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  (folder / "tune.artifacts/control.sock").copy(name.sun_path, sizeof name.sun_path - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  close(listener);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"space.yaml", "tune.db"}));
}

// SIGKILL for tuner, worker and what speaks for the program, all at once.
TEST(Kill, WhatAProgramHasStartedInASessionOfItsOwnGoesWithTheNextResume) {
  TestFolder folder;
  folder.Write("trial.sh",
               "#!/bin/sh\n"
               "test -e again && { echo 'v: 1'; exit 0; }\n"
               "touch again\n"
               "setsid sh -c 'echo $$ > part; mv part daemon; exec sleep 1000' 2>/dev/null &\n"
               "while ! test -e daemon; do sleep 0.01; done\n"
               "echo 'v: 0'; exec sleep 1000\n");
  const std::string space =
      folder.Write("space.yaml",
                   "trainable: {command: [sh, trial.sh], metrics: {v: {regex: 'v: {number}'}}}\n"
                   "metric: v\nmode: max\nsamples: 1\nspace: {x: {uniform: [0, 1]}}\n");
  Program tune(folder, "tune", {"run", space});
  ASSERT_TRUE(tune.WaitForText("sweep space"));
  WaitForReports(folder, 1);
  const pid_t worker = ChildOf(tune.pid(), "tune_worker");
  const pid_t command = ChildOf(worker, "tune_trial_command");
  ASSERT_NE(command, 0);
  pid_t daemon = 0;
  std::ifstream(folder / "daemon") >> daemon;
  const AwaitedEnd end(daemon);
  for (const int signal : {SIGSTOP, SIGKILL}) {
    for (const pid_t pid : {tune.pid(), worker, command}) kill(pid, signal);
  }
  EXPECT_FALSE(end.IsThere());
  const ProgramResult resume = RunTune(folder, {"resume"});
  EXPECT_EQ(resume.exit_status, 0) << resume.err;
  EXPECT_TRUE(end.IsThere());
  EXPECT_NE(resume.err.find(std::to_string(daemon) + " ("), std::string::npos) << resume.err;
}

TEST(Kill, OneAtATimeTrialsThatDieChangeNoDecision) {
  const auto decisions = [](const std::string& crash) {
    TestFolder folder;
    const std::string space = folder.Write(
        "space.yaml",
        "trainable:\n  curve:\n    value: \"(x - 0.3)^2 + exp(-0.2 * t)\"\n    iterations: 9\n" +
            crash +
            "metric: loss\nmode: min\nsamples: 60\nseed: 5\nspace: {x: {uniform: [0, 1]}}\n"
            "scheduler: {asha: {max_t: 9, grace_period: 1, reduction_factor: 3}}\n"
            "failure: {max_failures: -1, backoff: 0s}\nlimits: {max_concurrent: 1}\n");
    EXPECT_TRUE(Succeeded(RunTune(folder, {"run", space})));
    return Query(folder,
                 "select trial, iteration, decision, rung, cutoff, rank, count from decisions "
                 "order by trial, iteration");
  };
  EXPECT_EQ(decisions("    crash: 0.1\n"), decisions(""));
}

TEST(Kill, TheClassifierEndsWithTheSameWeights) { KillAndLook(ClassifierSweeps().front(), "", 1); }

}  // namespace
}  // namespace tune::testing
