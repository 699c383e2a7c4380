// Checkpoints that outlive their machine: workers with a disk of their own, which are killed and
// lose it, and a tuner that has what they saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/network_rig.h"
#include "tests/e2e/program.h"
#include "tests/small_disk.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Of all trials' folders below a worker's cache, or a tuner's artifacts.
std::vector<std::string> CheckpointsBelow(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("checkpoint_")) continue;
    names.push_back(it->path().parent_path().filename().string() + "/" + name);
    it.disable_recursion_pending();
  }
  std::sort(names.begin(), names.end());
  return names;
}

// False after a minute.
bool WaitUntil(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

// The tuner's machine has the folder home_, which no worker sees.
class Outlive : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
  }

  std::unique_ptr<Program> StartTuner(const std::string& space,
                                      const std::vector<std::string>& more = {},
                                      const std::string& host = "127.0.0.1",
                                      const std::string& network = "") {
    std::vector<std::string> arguments = {"run",      home_.Write("space.yaml", space),
                                          "--cpus",   "0",
                                          "--db",     home_ / "tune.db",
                                          "--listen", host + ":0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto tune = std::make_unique<Program>(home_, "tune", arguments, network);
    join_ = WaitForJoinLine(*tune);
    EXPECT_NE(join_.token, "");
    return tune;
  }
  std::unique_ptr<Program> StartWorker(const std::string& cache, const std::string& network = "") {
    return std::make_unique<Program>(away_, "tune",
                                     join_.Worker({"--cpus", "1", "--cache", away_ / cache}),
                                     network, home_.path());
  }
  // The machine is gone, with all that lies on it.
  void Lose(std::unique_ptr<Program> worker, const std::string& cache) {
    worker->Signal(SIGKILL);
    EXPECT_EQ(worker->Wait().exit_status, 128 + SIGKILL);
    // At once, whatever the trial that was left behind still writes.
    fs::rename(away_ / cache, away_ / (cache + ".lost"));
  }
  // Trials went on elsewhere from what they had told of last.
  void ExpectNothingLost() {
    EXPECT_EQ(Query(home_,
                    "select count(*) from attempts a join attempts b on b.trial = a.trial and "
                    "b.number = a.number + 1 where b.from_iteration != (select max(iteration) "
                    "from reports r where r.trial = a.trial and r.attempt <= a.number)"),
              std::vector<std::string>{"0"});
  }

  TestFolder home_;
  TestFolder away_;
  JoinLine join_;
};

std::string Curve(const std::string& seconds, const std::string& rest) {
  return CurveSweep(
      "    iterations: 20\n    seconds: " + seconds + "\n    checkpoint_bytes: 256KiB\n", rest);
}
const char kOneAtATime[] = "samples: 3\nlimits: {max_concurrent: 1}\n";

TEST_F(Outlive, ATrialGoesOnElsewhereWhenItsMachineIsLost) {
  const std::string space = Curve("0.05", kOneAtATime);
  const auto tune = StartTuner(space);
  auto first = StartWorker("first");
  WaitForReports(home_, 7);
  Lose(std::move(first), "first");
  auto second = StartWorker("second");
  WaitForReports(home_, 27);
  EXPECT_THAT(RunTune(home_, {"status", "--db", home_ / "tune.db"}).out,
              HasSubstr("of checkpoints in the last hour, by workers without this disk"));
  Lose(std::move(second), "second");
  const auto third = StartWorker("third");
  EXPECT_TRUE(Succeeded(third->Wait()));
  EXPECT_TRUE(Succeeded(tune->Wait()));
  EXPECT_EQ(FinalTable(home_), UndisturbedTable(space));
  EXPECT_EQ(Query(home_, "select outcome, count(*) from attempts group by 1"),
            (std::vector<std::string>{"completed|3", "lost|2"}));
  ExpectNothingLost();
  // What the tuner's rows say is on its disk, and what came in half is not.
  EXPECT_TRUE(Succeeded(RunTune(home_, {"doctor", "--db", home_ / "tune.db"})));
  EXPECT_FALSE(fs::exists(home_ / "tune.artifacts/space/.incoming"));
  // A worker that ends leaves nothing of it behind.
  EXPECT_THAT(CheckpointsBelow(away_ / "third"), ::testing::IsEmpty());
}

TEST_F(Outlive, AProgramsCheckpointComesWithIt) {
  home_.Write("trial.py",
              "import pathlib, tune\n"
              "restored = tune.restored()\n"
              "total = float(restored.joinpath('total').read_text()) if restored else 0.0\n"
              "x = float(tune.config()['x'])\n"
              "for i in range(tune.iteration() + 1, 16):\n"
              "    total += x * i\n"
              "    state = pathlib.Path('state')\n"
              "    state.mkdir(exist_ok=True)\n"
              "    state.joinpath('total').write_text(repr(total))\n"
              "    state.joinpath('weights').write_bytes(bytes([i]) * 100000)\n"
              "    tune.report(sum=total, checkpoint=state)\n");
  const std::string space =
      "trainable: {command: [python3, trial.py], working_dir: .}\n"
      "metric: sum\nmode: max\nseed: 5\nspace: {x: {uniform: [0, 1]}}\n" +
      std::string(kOneAtATime);
  const auto tune = StartTuner(space);
  auto first = StartWorker("first");
  WaitForReports(home_, 6);
  Lose(std::move(first), "first");
  const auto second = StartWorker("second");
  const ProgramResult worker_result = second->Wait();
  EXPECT_EQ(worker_result.exit_status, 0) << worker_result.err;
  const ProgramResult result = tune->Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  ExpectNothingLost();
  // The same sweep that nobody disturbed.
  TestFolder calm;
  fs::copy_file(home_ / "trial.py", calm / "trial.py");
  EXPECT_TRUE(Succeeded(RunTune(calm, {"run", calm.Write("space.yaml", space)})));
  EXPECT_EQ(FinalTable(home_), FinalTable(calm));
}

TEST_F(Outlive, TheClassifiersCheckpointComesWithIt) {
  const std::string space =
      "trainable: food11\nmetric: val_accuracy\nmode: max\nseed: 5\n"
      "space: {data: synthetic, width_mult: 0.35, image_size: 32, batch_size: 32, "
      "lr: {choice: [0.001, 0.004]}, initial_epochs: 0, total_epochs: 5, patience: 5}\n"
      "samples: 2\nlimits: {max_concurrent: 1}\n";
  const auto tune = StartTuner(space);
  auto first = StartWorker("first");
  WaitForReports(home_, 3);
  Lose(std::move(first), "first");
  const auto second = StartWorker("second");
  EXPECT_TRUE(Succeeded(second->Wait()));
  const ProgramResult result = tune->Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  ExpectNothingLost();
  TestFolder calm;
  EXPECT_TRUE(Succeeded(RunTune(calm, {"run", calm.Write("space.yaml", space), "--cpus", "1"})));
  EXPECT_EQ(FinalTable(home_), FinalTable(calm));
}

TEST_F(Outlive, AWorkerThatSharesTheFolderSendsNothing) {
  const std::string space = Curve("0", kOneAtATime);
  const auto tune = StartTuner(space);
  const Program worker(away_, "tune", join_.Worker({"--cpus", "1", "--cache", away_ / "cache"}));
  EXPECT_TRUE(Succeeded(tune->Wait()));
  EXPECT_EQ(FinalTable(home_), UndisturbedTable(space));
  EXPECT_FALSE(fs::exists(away_ / "cache/artifacts"));
  EXPECT_FALSE(fs::exists(home_ / "tune.artifacts/space/.incoming"));
  // What it wrote to find that out is gone.
  for (const auto& entry : fs::directory_iterator(home_ / "tune.artifacts/space")) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".nonce")) << entry.path();
  }
}

TEST_F(Outlive, OfATrialOneCheckpointStaysInTheCacheAndNoneThatTheTunerRemoved) {
  // Room for one that is the best and one of the trial that runs.
  const auto tune = StartTuner(Curve("0.05",
                                     "samples: 4\nlimits: {max_concurrent: 1, lease: 3s}\n"
                                     "checkpoint: {disk_budget: 300KiB}\n"));
  const auto worker = StartWorker("cache");
  WaitForReports(home_, 65);
  const auto of_ended = [](const std::string& folder) {
    std::vector<std::string> names = CheckpointsBelow(folder);
    std::erase_if(names, [](const std::string& name) { return name.starts_with("3/"); });
    return names;
  };
  // It is told within a heartbeat or two; the last trial lasts for many.
  ASSERT_TRUE(WaitUntil([&] {
    return of_ended(away_ / "cache").size() <= of_ended(home_ / "tune.artifacts").size();
  })) << ::testing::PrintToString(CheckpointsBelow(away_ / "cache"))
      << " here, at the tuner "
      << ::testing::PrintToString(CheckpointsBelow(home_ / "tune.artifacts"));
  EXPECT_LE(of_ended(away_ / "cache").size(), 1u);
  EXPECT_TRUE(Succeeded(worker->Wait()));
  EXPECT_TRUE(Succeeded(tune->Wait()));
  EXPECT_THAT(CheckpointsBelow(away_ / "cache"), ::testing::IsEmpty());
}

TEST_F(Outlive, AFullDiskOfAWorkerIsItsOwnTrouble) {
  const SmallDisk disk(away_ / "small", 400'000);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::string space = Curve("0", kOneAtATime);
  const auto tune = StartTuner(space);
  const auto full = StartWorker("small");
  const ProgramResult left = full->Wait();
  EXPECT_EQ(left.exit_status, 1);
  EXPECT_THAT(left.err,
              HasSubstr("this worker's disk takes no writes: cannot save a checkpoint in " +
                        (away_ / "small/artifacts/")));
  const auto worker = StartWorker("cache");
  EXPECT_TRUE(Succeeded(worker->Wait()));
  EXPECT_TRUE(Succeeded(tune->Wait()));
  EXPECT_EQ(FinalTable(home_), UndisturbedTable(space));
  EXPECT_EQ(
      Query(home_, "select count(*) from attempts where outcome not in ('completed', 'preempted')"),
      std::vector<std::string>{"0"});
  ExpectNothingLost();
}

TEST_F(Outlive, AnUploadIsGoneOnFromAfterABreak) {
  if (const std::string reason = WhyNoNetwork(); !reason.empty()) GTEST_SKIP() << reason;
  NetworkRig rig;
  const std::string space =
      CurveSweep("    iterations: 2\n    checkpoint_bytes: 3MiB\n", "samples: 1\n");
  const auto tune = StartTuner(space, {}, rig.tuner_host(), rig.tuner_network());
  rig.SlowDown("16mbit");
  const auto worker = StartWorker("cache", rig.worker_network());
  const auto come = [&]() -> uintmax_t {
    std::error_code error;
    for (fs::directory_iterator it(home_ / "tune.artifacts/space/.incoming", error), end;
         !error && it != end; it.increment(error)) {
      return fs::file_size(it->path(), error);
    }
    return 0;
  };
  ASSERT_TRUE(WaitUntil([&] { return come() >= 1'000'000; }));
  rig.Reset();
  ASSERT_TRUE(worker->WaitForText("trying again"));
  EXPECT_GE(come(), 1'000'000u);
  EXPECT_EQ(Query(home_, "select count(*) from reports"), std::vector<std::string>{"0"});
  rig.Heal();
  EXPECT_TRUE(Succeeded(worker->Wait()));
  EXPECT_TRUE(Succeeded(tune->Wait()));
  EXPECT_EQ(FinalTable(home_), UndisturbedTable(space));
  EXPECT_EQ(Query(home_, "select outcome, count(*) from attempts"),
            std::vector<std::string>{"completed|1"});
}

TEST_F(Outlive, ACheckpointThatIsTooLargeEndsItsTrialWithTheRemedy) {
  const auto tune = StartTuner(Curve("0", "samples: 1\n"), {"--checkpoint-max", "100KiB"});
  const auto worker = StartWorker("cache");
  EXPECT_EQ(tune->Wait().exit_status, 3);
  const std::vector<std::string> errors = Query(home_, "select error from attempts");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0],
              HasSubstr("larger than the tuner takes, 102400 (tune run --checkpoint-max)"));
}

}  // namespace
}  // namespace tune::testing
