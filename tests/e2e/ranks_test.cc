// Trials of two ranks: real processes that train one network together, and what their deaths lead
// to.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"
#include "tests/e2e/watched_program.h"

namespace tune::testing {
namespace {

constexpr int kEpochs = 20;

std::string Space(const std::string& more = "") {
  return "trainable: food11\nmetric: val_loss\nmode: min\nsamples: 1\nseed: 5\n"
         "space: {data: synthetic, image_size: 32, width_mult: 0.35, batch_size: 32, lr: 0.01,\n"
         "        patience: 100, total_epochs: " +
         std::to_string(kEpochs) +
         "}\n"
         "resources: {cpu: 1, workers: 2, spread: true}\n"
         "failure: {max_failures: 1, backoff: 0}\n" +
         more;
}

std::string FileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Weights, Adam's moments and the best epoch's weights at the end of trial 0.
std::string EndState(const TestFolder& folder) {
  const auto paths =
      Query(folder, "select path from checkpoints where iteration = " + std::to_string(kEpochs));
  EXPECT_EQ(paths.size(), 1u);
  if (paths.size() != 1) return "";
  return FileText(paths[0] + "/model.safetensors") + FileText(paths[0] + "/state.safetensors");
}

// Of a sweep that nobody disturbs; run once.
const std::string& UndisturbedEnd() {
  static const std::string state = [] {
    TestFolder folder;
    const ProgramResult result =
        RunTune(folder, {"run", folder.Write("space.yaml", Space()), "--cpus", "2"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(Query(folder, "select outcome, error from attempts"),
              std::vector<std::string>{"completed|"});
    EXPECT_EQ(result.err.find("encrypted"), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "tune.artifacts/space/0/ranks_1"));
    return EndState(folder);
  }();
  return state;
}

// The ranks' processes below `root`, the first rank's first: it was started before the other.
std::vector<pid_t> RankProcesses(pid_t root) {
  std::vector<pid_t> pids;
  for (const ProcessEntry& entry : Descendants(root)) {
    if (entry.name.starts_with("tune_trial_food")) pids.push_back(entry.pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

// Requires that the database is there.
void WaitForReports(const TestFolder& folder, int count) {
  const std::string there = "select count(*) >= " + std::to_string(count) + " from reports";
  while (Query(folder, there) != std::vector<std::string>{"1"}) {
  }
}

TEST(Ranks, OfOneWorkerTrainTogetherAndEndWithACheckpoint) {
  EXPECT_GT(UndisturbedEnd().size(), 1'000'000u);
}

TEST(Ranks, OfTwoWorkersEndWithTheSameBits) {
  TestFolder folder;
  Program tune(
      folder, "tune",
      {"run", folder.Write("space.yaml", Space()), "--cpus", "0", "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  ASSERT_NE(join.token, "");
  Program first(folder, "tune", join.Worker({"--cpus", "1", "--name", "a"}));
  Program second(folder, "tune", join.Worker({"--cpus", "1", "--name", "b"}));
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(first.Wait().exit_status, 0);
  EXPECT_EQ(second.Wait().exit_status, 0);
  EXPECT_EQ(Query(folder,
                  "select outcome, error, '[' || (3 - worker) || ']' = other_workers"
                  " from attempts"),
            std::vector<std::string>{"completed||1"});
  EXPECT_NE(result.err.find("neither encrypted nor authenticated"), std::string::npos)
      << result.err;
  EXPECT_EQ(EndState(folder), UndisturbedEnd());
}

// Whichever of the two dies, the trial goes on from its checkpoint as if nothing had been.
class DeadRank : public ::testing::TestWithParam<int> {};

TEST_P(DeadRank, RestartsTheTrialFromItsCheckpoint) {
  TestFolder folder;
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", Space()), "--cpus", "2"});
  ASSERT_TRUE(tune.WaitForText("database tune.db"));
  WaitForReports(folder, 3);
  const std::vector<pid_t> ranks = RankProcesses(tune.pid());
  ASSERT_EQ(ranks.size(), 2u);
  ASSERT_EQ(kill(ranks[static_cast<size_t>(GetParam())], SIGKILL), 0);
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select number, outcome, from_iteration >= 3 from attempts"),
            (std::vector<std::string>{"1|killed|0", "2|completed|1"}));
  const std::string prefix = GetParam() == 0 ? "" : "rank 1: ";
  EXPECT_EQ(Query(folder, "select error from attempts where number = 1"),
            std::vector<std::string>{
                prefix + "the trial process was killed by SIGKILL, and not for want of memory"});
  EXPECT_EQ(EndState(folder), UndisturbedEnd());
}

INSTANTIATE_TEST_SUITE_P(First, DeadRank, ::testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Second, DeadRank, ::testing::Values(1));

// Its rank is gone at once, and the other one ends; that it was the worker is known when its lease
// is over.
TEST(Ranks, OfALostWorkerGoOnWithAnotherOne) {
  TestFolder folder;
  Program tune(folder, "tune",
               {"run", folder.Write("space.yaml", Space("limits: {lease: 2s}\n")), "--cpus", "0",
                "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  ASSERT_NE(join.token, "");
  Program first(folder, "tune", join.Worker({"--cpus", "1", "--name", "a"}));
  Program second(folder, "tune", join.Worker({"--cpus", "1", "--name", "b"}));
  WaitForReports(folder, 3);
  second.Signal(SIGKILL);
  Program third(folder, "tune", join.Worker({"--cpus", "1", "--name", "c"}));
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(first.Wait().exit_status, 0);
  EXPECT_EQ(third.Wait().exit_status, 0);
  EXPECT_EQ(Query(folder, "select number, outcome from attempts"),
            (std::vector<std::string>{"1|lost", "2|completed"}));
  EXPECT_EQ(EndState(folder), UndisturbedEnd());
}

TEST(Ranks, OfAKilledTunerGoOnAfterAResume) {
  TestFolder folder;
  {
    Program tune(folder, "tune", {"run", folder.Write("space.yaml", Space()), "--cpus", "2"});
    ASSERT_TRUE(tune.WaitForText("database tune.db"));
    WaitForReports(folder, 3);
    tune.Signal(SIGKILL);
    EXPECT_EQ(tune.Wait().exit_status, 128 + SIGKILL);
  }
  const ProgramResult result = RunTune(folder, {"resume", "--cpus", "2"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select number, outcome from attempts"),
            (std::vector<std::string>{"1|lost", "2|completed"}));
  EXPECT_EQ(EndState(folder), UndisturbedEnd());
}

TEST(Ranks, StopTogetherWhenTheirTrialIsStopped) {
  TestFolder folder;
  const ProgramResult result =
      RunTune(folder, {"run", folder.Write("space.yaml", Space("stop: {training_iteration: 2}\n")),
                       "--samples", "3", "--cpus", "2"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select outcome, error from attempts"),
            (std::vector<std::string>{"stopped|", "stopped|", "stopped|"}));
}

struct Refusal {
  std::string option;
  std::string reason;
};

TEST(Ranks, ThatCannotBeAreRefusedBeforeAnythingStarts) {
  const Refusal refusals[] = {
      {"space.batch_size=3", "batch_size: read 3, which 2 ranks share; expected 4 or more"},
      {"space.device=cuda", "device: 2 ranks train together on processors alone; expected cpu"},
      {"resources.workers=3",
       "a trial needs cpu: 1, workers: 3, but the only worker (local) has "
       "2 CPUs, 0 GPUs"},
      {"resources.spread=maybe", "spread: read 'maybe', expected true or false"},
      {"trainable={command: [\"true\"]}", "expected 1 (food11 trains over several workers)"},
  };
  for (const Refusal& refusal : refusals) {
    TestFolder folder;
    const ProgramResult result = RunTune(folder, {"run", folder.Write("space.yaml", Space()),
                                                  "--cpus", "2", "--set", refusal.option});
    EXPECT_EQ(result.exit_status, 2) << refusal.option;
    EXPECT_NE(result.err.find(refusal.reason), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace tune::testing
