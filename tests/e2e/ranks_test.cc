// Trials of two ranks: real processes that train one network together, and what their deaths lead
// to.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"
#include "tests/e2e/rank_sweep.h"
#include "tests/e2e/watched_program.h"

namespace tune::testing {
namespace {

// The ranks' processes below `root`, the first rank's first: it was started before the other.
std::vector<pid_t> RankProcesses(pid_t root) {
  std::vector<pid_t> pids;
  for (const ProcessEntry& entry : Descendants(root)) {
    if (entry.name.starts_with("tune_trial_food")) pids.push_back(entry.pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

TEST(Ranks, OfOneWorkerTrainTogetherAndEndWithACheckpoint) {
  EXPECT_GT(UndisturbedEnd().size(), 1'000'000u);
}

TEST(Ranks, OfTwoWorkersEndWithTheSameBits) {
  TestFolder folder;
  Program tune(
      folder, "tune",
      {"run", folder.Write("space.yaml", RankSpace()), "--cpus", "0", "--listen", "127.0.0.1:0"});
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
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", RankSpace()), "--cpus", "2"});
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

// The system sends it to who writes to a rank that is gone.
TEST(Ranks, DoNotDieOfABrokenPipesSignal) {
  TestFolder folder;
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", RankSpace()), "--cpus", "2"});
  ASSERT_TRUE(tune.WaitForText("database tune.db"));
  WaitForReports(folder, 1);
  const std::vector<pid_t> ranks = RankProcesses(tune.pid());
  ASSERT_EQ(ranks.size(), 2u);
  for (const pid_t rank : ranks) ASSERT_EQ(kill(rank, SIGPIPE), 0);
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select number, outcome from attempts"),
            std::vector<std::string>{"1|completed"});
  EXPECT_EQ(EndState(folder), UndisturbedEnd());
}

// Its rank is gone at once, and the other one ends; that it was the worker is known when its lease
// is over.
TEST(Ranks, OfALostWorkerGoOnWithAnotherOne) {
  TestFolder folder;
  Program tune(folder, "tune",
               {"run", folder.Write("space.yaml", RankSpace("limits: {lease: 2s}\n")), "--cpus",
                "0", "--listen", "127.0.0.1:0"});
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
    Program tune(folder, "tune", {"run", folder.Write("space.yaml", RankSpace()), "--cpus", "2"});
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
  const ProgramResult result = RunTune(
      folder, {"run", folder.Write("space.yaml", RankSpace("stop: {training_iteration: 2}\n")),
               "--samples", "3", "--cpus", "2"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select outcome, error from attempts"),
            (std::vector<std::string>{"stopped|", "stopped|", "stopped|"}));
}

// ---- on cards

// Two ranks by this request, of which the device is that of the configuration.
std::string CardSpace(const std::string& device, const std::string& gpu) {
  std::string space = RankSpace();
  space.insert(space.find("data: synthetic"), "device: " + device + ", precision: fp32, ");
  return space.insert(space.find("cpu: 1"), gpu);
}

std::string RankLog(const TestFolder& folder) {
  return FileText(folder / "tune.artifacts/space/0/attempt_1.log");
}

TEST(RanksWithoutCards, TrainOnProcessorsWhereTheDeviceIsForThemToFind) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  TestFolder folder;
  const ProgramResult result =
      RunTune(folder, {"run", folder.Write("space.yaml", CardSpace("auto", "")), "--cpus", "2"});
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(EndState(folder), UndisturbedEnd());
}

TEST(RanksWithoutCards, SayThatThereIsNone) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  TestFolder folder;
  const ProgramResult result =
      RunTune(folder, {"run", folder.Write("space.yaml", CardSpace("cuda", "")), "--cpus", "2"});
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_NE(result.exit_status, 0);
  const auto errors = Query(folder, "select distinct error from attempts");
  ASSERT_FALSE(errors.empty());
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("CUDA"), std::string::npos) << error;
    EXPECT_EQ(error.find("connection"), std::string::npos) << "that is no cause: " << error;
  }
}

int64_t CardCount() {
  std::error_code none;
  int64_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    count += entry.is_directory() ? 1 : 0;
  }
  return TUNE_HAS_CUDA ? count : 0;
}

// The same end each time.
void EndAlike(const std::string& space, const std::string& log_line) {
  std::string state;
  for (int time = 0; time < 2; ++time) {
    TestFolder folder;
    const ProgramResult result =
        RunTune(folder, {"run", folder.Write("space.yaml", space), "--cpus", "2"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_NE(RankLog(folder).find(log_line), std::string::npos) << RankLog(folder);
    if (time == 0) state = EndState(folder);
    EXPECT_EQ(EndState(folder), state);
  }
}

TEST(RanksOnCards, OfTheirOwnAddUpByNccl) {
  if (CardCount() < 2) GTEST_SKIP() << "two GPUs are needed";
  EndAlike(CardSpace("cuda", "gpu: 1, "), "gradients go from card to card, by NCCL");
}

TEST(RanksOnCards, ThatShareOneAddUpThroughTheHost) {
  if (CardCount() < 1) GTEST_SKIP() << "no GPU";
  EndAlike(CardSpace("cuda", "gpu: 0.5, "), "gradients go through the host: ");
}

struct Refusal {
  std::string option;
  std::string reason;
};

TEST(Ranks, ThatCannotBeAreRefusedBeforeAnythingStarts) {
  const Refusal refusals[] = {
      {"space.batch_size=3", "batch_size: read 3, which 2 ranks share; expected 4 or more"},
      {"resources.workers=3",
       "a trial needs cpu: 1, workers: 3, but the only worker (local) has "
       "2 CPUs, 0 GPUs"},
      {"resources.spread=maybe", "spread: read 'maybe', expected true or false"},
      {"trainable={command: [\"true\"]}", "expected 1 (food11 trains over several workers)"},
  };
  for (const Refusal& refusal : refusals) {
    TestFolder folder;
    const ProgramResult result = RunTune(folder, {"run", folder.Write("space.yaml", RankSpace()),
                                                  "--cpus", "2", "--set", refusal.option});
    EXPECT_EQ(result.exit_status, 2) << refusal.option;
    EXPECT_NE(result.err.find(refusal.reason), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace tune::testing
