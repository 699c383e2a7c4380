// Trials of two ranks: real processes that train one network together, and what their deaths lead
// to.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tests/e2e/program.h"
#include "tests/e2e/rank_sweep.h"
#include "tests/e2e/watched_program.h"

namespace tune::testing {
namespace {

// The ranks' processes below `root`, the first rank's first: it was started before the other.
std::vector<pid_t> RankProcesses(pid_t root) {
  std::vector<std::pair<int64_t, pid_t>> starts;
  for (const ProcessEntry& entry : Descendants(root)) {
    if (entry.name.starts_with("tune_trial_food")) {
      starts.emplace_back(entry.started_at, entry.pid);
    }
  }
  std::sort(starts.begin(), starts.end());
  std::vector<pid_t> pids;
  for (const auto& [at, pid] : starts) pids.push_back(pid);
  return pids;
}

// A sweep whose ranks have one worker, and have reported as often.
struct SweepUnderWay {
  explicit SweepUnderWay(int reports)
      : tune(folder, "tune", {"run", folder.Write("space.yaml", RankSpace()), "--cpus", "2"}) {
    EXPECT_TRUE(tune.WaitForText("database tune.db"));
    WaitForReports(folder, reports);
  }

  // It goes on to the end that it has when nobody disturbs it.
  void ExpectItsEnd() {
    const ProgramResult result = tune.Wait();
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(EndState(folder), UndisturbedEnd());
  }

  TestFolder folder;
  Program tune;
};

TEST(Ranks, OfOneWorkerTrainTogetherAndEndWithACheckpoint) {
  EXPECT_GT(UndisturbedEnd().size(), 1'000'000u);
}

TEST(Ranks, OfTwoWorkersEndWithTheSameBits) {
  JoinedRankSweep sweep;
  Program first = sweep.Worker("a");
  Program second = sweep.Worker("b");
  sweep.ExpectUndisturbedEnd(first, second);
}

// Whichever of the two dies, the trial goes on from its checkpoint as if nothing had been.
class DeadRank : public ::testing::TestWithParam<int> {};

TEST_P(DeadRank, RestartsTheTrialFromItsCheckpoint) {
  SweepUnderWay sweep(3);
  const std::vector<pid_t> ranks = RankProcesses(sweep.tune.pid());
  ASSERT_EQ(ranks.size(), 2u);
  ASSERT_EQ(kill(ranks[static_cast<size_t>(GetParam())], SIGKILL), 0);
  sweep.ExpectItsEnd();
  EXPECT_EQ(Query(sweep.folder, "select number, outcome, from_iteration >= 3 from attempts"),
            (std::vector<std::string>{"1|killed|0", "2|completed|1"}));
  const std::string prefix = GetParam() == 0 ? "" : "rank 1: ";
  EXPECT_EQ(Query(sweep.folder, "select error from attempts where number = 1"),
            std::vector<std::string>{
                prefix + "the trial process was killed by SIGKILL, and not for want of memory"});
}

INSTANTIATE_TEST_SUITE_P(First, DeadRank, ::testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Second, DeadRank, ::testing::Values(1));

// The system sends it to who writes to a rank that is gone.
TEST(Ranks, DoNotDieOfABrokenPipesSignal) {
  SweepUnderWay sweep(1);
  const std::vector<pid_t> ranks = RankProcesses(sweep.tune.pid());
  ASSERT_EQ(ranks.size(), 2u);
  for (const pid_t rank : ranks) ASSERT_EQ(kill(rank, SIGPIPE), 0);
  sweep.ExpectItsEnd();
  EXPECT_EQ(Query(sweep.folder, "select number, outcome from attempts"),
            std::vector<std::string>{"1|completed"});
}

// Its rank is gone at once, and the other one ends; that it was the worker is known when its lease
// is over.
TEST(Ranks, OfALostWorkerGoOnWithAnotherOne) {
  JoinedRankSweep sweep("limits: {lease: 2s}\n");
  Program first = sweep.Worker("a");
  Program second = sweep.Worker("b");
  WaitForReports(sweep.folder(), 3);
  second.Signal(SIGKILL);
  Program third = sweep.Worker("c");
  const ProgramResult result = sweep.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_TRUE(Succeeded(first.Wait()));
  EXPECT_TRUE(Succeeded(third.Wait()));
  EXPECT_EQ(sweep.Ask("select number, outcome from attempts"),
            (std::vector<std::string>{"1|lost", "2|completed"}));
  EXPECT_EQ(EndState(sweep.folder()), UndisturbedEnd());
}

TEST(Ranks, OfAKilledTunerGoOnAfterAResume) {
  SweepUnderWay sweep(3);
  sweep.tune.Signal(SIGKILL);
  EXPECT_EQ(sweep.tune.Wait().exit_status, 128 + SIGKILL);
  const ProgramResult result = RunTune(sweep.folder, {"resume", "--cpus", "2"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(sweep.folder, "select number, outcome from attempts"),
            (std::vector<std::string>{"1|lost", "2|completed"}));
  EXPECT_EQ(EndState(sweep.folder), UndisturbedEnd());
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

// Where no card can be seen.
ProgramResult RunWithoutCards(const TestFolder& folder, const std::string& device,
                              const std::vector<std::string>& more = {}) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  std::vector<std::string> arguments = {"run", folder.Write("space.yaml", CardSpace(device, "")),
                                        "--cpus", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProgramResult result = RunTune(folder, arguments);
  unsetenv("CUDA_VISIBLE_DEVICES");
  return result;
}

TEST(RanksWithoutCards, TrainOnProcessorsWhereTheDeviceIsForThemToFind) {
  TestFolder folder;
  const ProgramResult result = RunWithoutCards(folder, "auto");
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(EndState(folder), UndisturbedEnd());
}

TEST(RanksWithoutCards, SayThatThereIsNone) {
  TestFolder folder;
  // Without a share of a device that is told before anything starts.
  const ProgramResult unshared = RunWithoutCards(folder, "cuda");
  EXPECT_EQ(unshared.exit_status, 2);
  EXPECT_NE(unshared.err.find("device: read 'cuda', but a trial has no share of a device here"),
            std::string::npos)
      << unshared.err;
  const ProgramResult result =
      RunWithoutCards(folder, "cuda", {"--gpus", "1", "--set", "resources.gpu=0.5"});
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
      {"trainable={command: [\"true\"], env: {MASTER_PORT: \"29500\"}}",
       "env.MASTER_PORT: is set for each of the 2 ranks (resources.workers); take it out"},
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
