// Checkpoints, disks and memory that fail under a whole sweep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/program.h"
#include "tests/sanitized.h"
#include "tests/small_disk.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Query1(const TestFolder& folder, const std::string& sql) {
  const std::vector<std::string> rows = Query(folder, sql);
  return rows.size() == 1 ? rows[0] : std::to_string(rows.size()) + " rows";
}

void FlipABit(const fs::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(100);
  const char byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(100);
  stream.put(byte);
  ASSERT_TRUE(stream.flush()) << file;
}

// Until the trial has reported a few times.
void WaitUntilUnderWay(const TestFolder& folder, Program& tune) {
  ASSERT_TRUE(tune.WaitForText("tune.db"));
  WaitForReports(folder, 5);
}

void RunAndInterrupt(const TestFolder& folder, const std::string& space) {
  Program tune(folder, "tune", {"run", space});
  WaitUntilUnderWay(folder, tune);
  tune.Signal(SIGINT);
  EXPECT_EQ(tune.Wait().exit_status, 130);
  ASSERT_EQ(Query1(folder, "select status from experiments"), "INTERRUPTED");
}

const char kSlow[] = "    iterations: 40\n    seconds: 0.02\n    checkpoint_bytes: 64KiB\n";

TEST(Checkpoint, ADamagedOneIsMarkedAndTheOneBeforeIsUsed) {
  const std::string text = CurveSweep(kSlow, "samples: 1\ncheckpoint: {keep: 3}\n");
  TestFolder folder;
  RunAndInterrupt(folder, folder.Write("space.yaml", text));
  const std::string latest = Query1(
      folder,
      "select path from checkpoints where state = 'durable' order by iteration desc limit 1");
  const int64_t iteration = std::stoll(Query1(folder, "select max(iteration) from checkpoints"));
  FlipABit(latest + "/state.bin");
  const ProgramResult resumed = RunTune(folder, {"resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;

  EXPECT_EQ(Query1(folder, "select state from checkpoints where path = '" + latest + "'"),
            "corrupt");
  EXPECT_EQ(Query1(folder,
                   "select outcome, from_iteration from attempts where error like "
                   "'%state.bin is not what was written%'"),
            "crashed|" + std::to_string(iteration));
  EXPECT_EQ(Query1(folder, "select from_iteration from attempts order by number desc limit 1"),
            std::to_string(iteration - 1));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(text)) << "free of charge, and the same answer";
}

// The first attempt went as far as the second one begins, and none came between.
void ExpectToHaveGoneOnFromTheLastReport(const TestFolder& folder) {
  EXPECT_EQ(Query1(folder,
                   "select a.outcome, max(r.iteration) >= 5, max(r.iteration) = b.from_iteration, "
                   "b.outcome from attempts a join attempts b on b.trial = a.trial and "
                   "b.number = 2 join reports r on r.trial = a.trial and r.attempt = 1 where "
                   "a.number = 1"),
            "preempted|1|1|completed");
}

const char kRare[] = "samples: 1\ncheckpoint: {every: 1000}\n";

TEST(Checkpoint, CtrlCSavesWhatTheLastOneDoesNotHold) {
  const std::string text = CurveSweep(kSlow, kRare);
  TestFolder folder;
  RunAndInterrupt(folder, folder.Write("space.yaml", text));
  EXPECT_EQ(Query1(folder, "select count(*), max(state) from checkpoints"), "1|durable");
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  ExpectToHaveGoneOnFromTheLastReport(folder);
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(text));
}

TEST(Checkpoint, AWorkerThatIsToldToEndSavesWhatTheLastOneDoesNotHold) {
  TestFolder folder;
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", CurveSweep(kSlow, kRare))});
  WaitUntilUnderWay(folder, tune);
  kill(ChildOf(tune.pid(), "tune_worker"), SIGTERM);
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  ExpectToHaveGoneOnFromTheLastReport(folder);
}

TEST(Checkpoint, WhatIsStoppedOrPausedNowSavesNothingMore) {
  for (const std::string verb : {"stop", "pause"}) {
    TestFolder folder;
    Program tune(folder, "tune", {"run", folder.Write("space.yaml", CurveSweep(kSlow, kRare))});
    WaitUntilUnderWay(folder, tune);
    EXPECT_TRUE(Succeeded(RunTune(folder, {verb, "--trial", "0", "--now"})));
    WaitForRows(folder, "select outcome from attempts", {"stopped"});
    tune.Signal(SIGINT);
    tune.Wait();
    EXPECT_EQ(Query1(folder, "select status from trials"),
              verb == "stop" ? "TERMINATED" : "PAUSED");
    EXPECT_EQ(Query1(folder, "select count(*) from checkpoints"), "0");
    EXPECT_FALSE(fs::exists(folder / "tune.artifacts/space/0"));
  }
}

TEST(Checkpoint, WithoutAnyThatIsWholeTheTrialBeginsAnew) {
  TestFolder folder;
  RunAndInterrupt(folder, folder.Write("space.yaml", CurveSweep(kSlow, "samples: 1\n")));
  for (const std::string& path :
       Query(folder, "select path from checkpoints where state = 'durable'")) {
    fs::resize_file(path + "/manifest.json", 10);
  }
  const ProgramResult resumed = RunTune(folder, {"resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(Query1(folder,
                   "select from_iteration, outcome from attempts order by number desc "
                   "limit 1"),
            "0|completed");
  EXPECT_EQ(Query1(folder, "select status, iterations from trials"), "TERMINATED|40");
}

TEST(Checkpoint, AFullDiskInterruptsTheSweepAndLosesNothing) {
  const std::string text =
      CurveSweep("    iterations: 3\n    checkpoint_bytes: 1MiB\n",
                 "samples: 6\nlimits: {max_concurrent: 1}\nresources: {cpu: 1}\n");
  TestFolder folder;
  fs::create_directory(folder / "tune.artifacts");
  const SmallDisk disk(folder / "tune.artifacts", 5 << 20);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const ProgramResult full = RunTune(folder, {"run", folder.Write("space.yaml", text)});
  EXPECT_EQ(full.exit_status, 1) << full.err;
  EXPECT_THAT(full.err, HasSubstr("cannot save a checkpoint in "));
  EXPECT_THAT(full.out, HasSubstr("tune resume"));
  EXPECT_EQ(Query1(folder, "select status from experiments"), "INTERRUPTED");
  EXPECT_EQ(Query1(folder, "select count(*) from trials where status = 'ERROR'"), "0");
  EXPECT_EQ(RunTune(folder, {"resume"}).exit_status, 1) << "there is still no room";

  disk.Resize(64 << 20);
  const ProgramResult resumed = RunTune(folder, {"resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(text));
}

TEST(Checkpoint, TheDiskBudgetIsWhatLiesOnDisk) {
  TestFolder folder;
  const ProgramResult result = RunTune(
      folder, {"run",
               folder.Write("space.yaml",
                            CurveSweep("    iterations: 5\n    checkpoint_bytes: 64KiB\n"
                                       "    crash: 0.05\n",
                                       "samples: 20\nfailure: {max_failures: -1}\n"
                                       "checkpoint: {keep: 2, keep_best: 3, disk_budget: 1MB}\n")),
               "--cpus", "2"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query1(folder,
                   "select sum(bytes) between 800000 and 1000000 from checkpoints where "
                   "state = 'durable'"),
            "1");
  std::set<std::string> on_disk;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "tune.artifacts")) {
    if (entry.path().filename().string().starts_with("checkpoint")) on_disk.insert(entry.path());
  }
  const std::vector<std::string> rows =
      Query(folder, "select path from checkpoints where state = 'durable'");
  EXPECT_EQ(on_disk, std::set<std::string>(rows.begin(), rows.end()));
  // The best of all is among them.
  EXPECT_EQ(Query1(folder,
                   "select count(*) from checkpoints c join trials t on t.id = c.trial where "
                   "c.state = 'durable' and c.iteration = t.best_iteration and t.best_value = "
                   "(select min(best_value) from trials)"),
            "1");
}

TEST(Causes, EachIsInTheAttempts) {
  for (const std::string cause : {"out_of_memory", "device_out_of_memory", "bad_config"}) {
    TestFolder folder;
    const std::string space =
        folder.Write("space.yaml", CurveSweep("    " + cause + ": 1\n", "samples: 1\n"));
    EXPECT_EQ(RunTune(folder, {"run", space}).exit_status, 3);
    EXPECT_EQ(Query1(folder, "select distinct outcome from attempts"), cause);
  }
}

TEST(Causes, ATrialThatPassesItsMemoryLimitHurtsItselfAlone) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer speaks of memory in its own words";
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml", CurveSweep("    iterations: 2\n    checkpoint_bytes: 512MiB\n",
                                            "samples: 1\nresources: {memory: 64MiB}\n"));
  EXPECT_EQ(RunTune(folder, {"run", space}).exit_status, 3);
  EXPECT_THAT(Query(folder, "select outcome, error from attempts"),
              ElementsAre(AllOf(HasSubstr("out_of_memory|"), HasSubstr("(resources.memory)"))));
}

}  // namespace
}  // namespace tune::testing
