// Programs of a user on a machine that does not have them: a worker that does not see the tuner's
// folder, in a mount namespace of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/limits.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/network_rig.h"
#include "tests/e2e/program.h"
#include "tests/e2e/running_head.h"
#include "tests/small_disk.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".list") names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The tuner's machine has the folder home_, the worker's away_.
class Elsewhere : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
    fs::create_directories(home_ / "code/lib");
    home_.Write("code/lib/value.txt", "0.5\n");
    WriteScript("value=$(cat lib/value.txt); touch ran-$TUNE_TRIAL; tune report acc=$value\n");
  }

  void WriteScript(const std::string& text) const {
    home_.Write("code/trial.sh", "#!/bin/sh\n" + text);
    chmod((home_ / "code/trial.sh").c_str(), 0755);
  }
  std::string Space(const std::string& more = "", int samples = 4,
                    const std::string& rest = "") const {
    return home_.Write("space.yaml",
                       "trainable:\n  command: [./trial.sh]\n  working_dir: code\n" + more +
                           "metric: acc\nmode: max\nseed: 3\nspace: {x: {uniform: [0, 1]}}\n"
                           "samples: " +
                           std::to_string(samples) + "\n" + rest);
  }
  // A tuner without a worker of its own; its join line is kept.
  std::unique_ptr<Program> StartTuner(const std::string& db = "tune.db",
                                      const std::string& host = "127.0.0.1",
                                      const std::string& network = "") {
    auto tune = std::make_unique<Program>(
        home_, "tune",
        std::vector<std::string>{"run", home_ / "space.yaml", "--cpus", "0", "--db", home_ / db,
                                 "--listen", host + ":0"},
        network);
    join_ = WaitForJoinLine(*tune);
    EXPECT_NE(join_.token, "");
    return tune;
  }
  std::unique_ptr<Program> StartWorker(const std::string& network = "",
                                       const std::string& cache = "cache", bool sees_home = false) {
    return std::make_unique<Program>(away_, "tune",
                                     join_.Worker({"--cpus", "2", "--cache", away_ / cache}),
                                     network, sees_home ? "" : home_.path());
  }
  void RunSweep(const std::string& db = "tune.db") {
    const auto tune = StartTuner(db);
    const auto worker = StartWorker();
    const ProgramResult worker_result = worker->Wait();
    EXPECT_EQ(worker_result.exit_status, 0) << worker_result.err;
    const ProgramResult result = tune->Wait();
    EXPECT_EQ(result.exit_status, 0) << result.err;
  }
  // Where the programs ran: the only package.
  std::string Copy() const {
    const std::vector<std::string> names = NamesIn(away_ / "cache/packages");
    EXPECT_THAT(names, SizeIs(1));
    return names.empty() ? "" : away_ / ("cache/packages/" + names.front());
  }
  std::vector<std::string> Rows(const std::string& sql, const std::string& db = "tune.db") const {
    return Query(home_, sql, db);
  }
  // On this worker, with no attempt that counts against them.
  void ExpectFourTrialsEndWell(Program& worker, Program& tune) const {
    EXPECT_TRUE(Succeeded(worker.Wait()));
    EXPECT_TRUE(Succeeded(tune.Wait()));
    EXPECT_EQ(Rows("select count(*) from attempts where outcome not in ('completed', 'preempted')"),
              std::vector<std::string>{"0"});
    EXPECT_EQ(Rows("select count(*) from trials where status = 'TERMINATED'"),
              std::vector<std::string>{"4"});
  }

  TestFolder home_;
  TestFolder away_;
  JoinLine join_;
};

TEST_F(Elsewhere, AWorkerThatDoesNotHaveTheFolderRunsTheSweepInACopy) {
  Space();
  RunSweep();
  EXPECT_EQ(Rows("select count(*), min(value), max(value) from reports"),
            std::vector<std::string>{"4|0.5|0.5"});
  EXPECT_THAT(NamesIn(Copy()), ElementsAre("lib", "ran-0", "ran-1", "ran-2", "ran-3", "trial.sh"));
  EXPECT_THAT(NamesIn(home_ / "code"), ElementsAre("lib", "trial.sh"));
  // Nor can it write where the tuner keeps what trials leave.
  EXPECT_THAT(NamesIn(away_ / "cache"), ElementsAre("artifacts", "packages"));
}

TEST_F(Elsewhere, TwoSweepsOfOneContentShareTheCopyAndItsSetup) {
  Space("  setup: [\"echo . >> $TUNE_SETUP_DIR/count\"]\n");
  WriteScript("wc -l < $TUNE_SETUP_DIR/count | sed s/^/acc=/ | xargs tune report\n");
  RunSweep("a.db");
  struct stat before = {};
  ASSERT_EQ(stat(Copy().c_str(), &before), 0);
  RunSweep("b.db");
  struct stat after = {};
  ASSERT_EQ(stat(Copy().c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(Rows("select count(*), max(value) from reports", "b.db"),
            std::vector<std::string>{"4|1.0"});
  // Another content has a copy of its own, and is set up.
  home_.Write("code/lib/value.txt", "0.75\n");
  RunSweep("c.db");
  EXPECT_THAT(NamesIn(away_ / "cache/packages"), SizeIs(2));
  EXPECT_EQ(Rows("select max(value) from reports", "c.db"), std::vector<std::string>{"1.0"});
  EXPECT_THAT(NamesIn(away_ / "cache/setup"), SizeIs(2));
}

// An environment of packages each: they would fill the disk with each edit of the program.
TEST_F(Elsewhere, OfSetupsThatNobodyUsesTheLatestUsedStay) {
  std::vector<std::string> earlier;
  for (size_t i = 0; i < limits::kPackagesKeptMax; ++i) {
    const std::string number = std::to_string(i);
    earlier.push_back(away_ / ("cache/setup/" + std::string(16 - number.size(), '0') + number));
    fs::create_directories(earlier.back() + "/venv");
  }
  const auto now = fs::last_write_time(earlier[0]);
  fs::last_write_time(earlier[3], now - std::chrono::hours(1));
  Space("  setup: [\"echo 1 > $TUNE_SETUP_DIR/made\"]\n");
  WriteScript("tune report acc=$(cat $TUNE_SETUP_DIR/made)\n");
  RunSweep();
  EXPECT_EQ(Rows("select count(*) from reports"), std::vector<std::string>{"4"});
  EXPECT_THAT(NamesIn(away_ / "cache/setup"), SizeIs(limits::kPackagesKeptMax));
  EXPECT_FALSE(fs::exists(earlier[3]));
}

TEST_F(Elsewhere, AWorkerThatSeesTheSameFolderUsesIt) {
  Space();
  const auto tune = StartTuner();
  const auto worker = StartWorker("", "cache", true);
  EXPECT_TRUE(Succeeded(worker->Wait()));
  EXPECT_TRUE(Succeeded(tune->Wait()));
  EXPECT_THAT(NamesIn(home_ / "code"),
              ElementsAre("lib", "ran-0", "ran-1", "ran-2", "ran-3", "trial.sh"));
  EXPECT_FALSE(fs::exists(away_ / "cache/packages"));
}

TEST_F(Elsewhere, ATrialGoesOnFromACheckpointThatItsMachineKeeps) {
  WriteScript(
      "from=${TUNE_RESTORED:+$(cat $TUNE_RESTORED)}\n"
      "echo saved > state; tune report acc=1 --checkpoint state\n"
      "test -n \"$from\" || exit 1\n"
      "tune report acc=2\n");
  Space("", 1, "failure: {max_failures: 1}\n");
  RunSweep();
  EXPECT_EQ(Rows("select outcome from attempts order by number"),
            (std::vector<std::string>{"crashed", "completed"}));
}

// A trial's second attempt goes on with what the first one wrote, on a machine that never saw it.
TEST_F(Elsewhere, WhatATrialLeavesInItsFolderComesToTheTunerAndGoesOnWithIt) {
  WriteScript(
      "cd $TUNE_DIR; mkdir -p plots; echo $TUNE_ATTEMPT >> history.csv\n"
      "echo $TUNE_ATTEMPT > plots/$TUNE_ATTEMPT.txt\n"
      "tune report acc=$(wc -l < history.csv)\ntest $TUNE_ATTEMPT = 2 || sleep 1000\n");
  Space("", 1);
  const auto tune = StartTuner();
  const auto first = StartWorker();
  WaitForReports(home_, 1);
  first->Signal(SIGTERM);
  EXPECT_TRUE(Succeeded(first->Wait()));
  const std::string trial = "tune.artifacts/space/0";
  EXPECT_EQ(home_.Read(trial + "/history.csv"), "1\n") << "of an attempt that was given back, too";
  fs::remove_all(away_ / "cache");
  const auto second = StartWorker("", "other");
  const ProgramResult result = tune->Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  second->Wait();
  EXPECT_EQ(Rows("select attempt, value from reports order by 1"),
            (std::vector<std::string>{"1|1.0", "2|2.0"}));
  EXPECT_THAT(NamesIn(home_ / (trial + "/plots")), ElementsAre("1.txt", "2.txt"));
  EXPECT_EQ(home_.Read(trial + "/history.csv"), "1\n2\n");
}

TEST_F(Elsewhere, ACutConnectionIsGoneOnFrom) {
  if (const std::string reason = WhyNoNetwork(); !reason.empty()) GTEST_SKIP() << reason;
  NetworkRig rig;
  home_.Write("code/large", std::string(1'500'000, 'x'));
  Space();
  const auto tune = StartTuner("tune.db", rig.tuner_host(), rig.tuner_network());
  rig.SlowDown("4mbit");
  const auto worker = StartWorker(rig.worker_network());
  const auto fetched = [&]() -> uintmax_t {
    for (const std::string& name : NamesIn(away_ / "cache/packages")) {
      std::error_code error;
      if (name.ends_with(".part")) {
        return fs::file_size(away_ / ("cache/packages/" + name), error);
      }
    }
    return 0;
  };
  while (fetched() < 300'000) {
  }
  rig.Reset();
  ASSERT_TRUE(worker->WaitForText("trying again"));
  EXPECT_GE(fetched(), 300'000u);
  rig.Heal();
  EXPECT_TRUE(Succeeded(worker->Wait()));
  EXPECT_TRUE(Succeeded(tune->Wait()));
  EXPECT_EQ(Rows("select outcome, count(*) from attempts"),
            std::vector<std::string>{"completed|4"});
}

TEST_F(Elsewhere, AFullDiskIsTheWorkersFaultAndNotTheTrials) {
  const SmallDisk disk(away_ / "small", 100'000);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  home_.Write("code/large", std::string(500'000, 'x'));
  Space();
  const auto tune = StartTuner();
  const auto full = StartWorker("", "small");
  const ProgramResult left = full->Wait();
  EXPECT_EQ(left.exit_status, 1);
  EXPECT_THAT(left.err, HasSubstr("tune worker: this worker cannot have the working_dir " +
                                  (home_ / "code") + ": cannot write "));
  EXPECT_THAT(left.err, HasSubstr(": No space left on device\n"));
  const auto worker = StartWorker();
  ExpectFourTrialsEndWell(*worker, *tune);
}

// Four times two thirds of the disk: what a trial that has completed left there is nobody's.
TEST_F(Elsewhere, WhatTrialsLeaveInTheirFoldersDoesNotFillTheDisk) {
  const SmallDisk disk(away_ / "small", 300'000);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  WriteScript("head -c 200000 /dev/zero > $TUNE_DIR/rest\ntune report acc=0.5\n");
  Space("", 4, "limits: {max_concurrent: 1}\n");
  const auto tune = StartTuner();
  const auto worker = StartWorker("", "small");
  ExpectFourTrialsEndWell(*worker, *tune);
}

// Trial 0 leaves no room on its way out: the next attempt of this machine cannot even begin.
TEST_F(Elsewhere, ADiskThatIsFullWhenAnAttemptBeginsIsTheWorkersFaultAndNotTheTrials) {
  const SmallDisk disk(away_ / "small", 200'000);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  WriteScript(
      "tune report acc=0.5\ntest $TUNE_TRIAL = 0 && rm -r $TUNE_DIR/* && cat /dev/zero > "
      "$TUNE_DIR/../rest\n:\n");
  Space("", 4, "limits: {max_concurrent: 1}\n");
  const auto tune = StartTuner();
  const auto full = StartWorker("", "small");
  const ProgramResult left = full->Wait();
  EXPECT_EQ(left.exit_status, 1);
  EXPECT_THAT(left.err, HasSubstr("tune worker: this worker's disk takes no writes: "));
  EXPECT_THAT(left.err, HasSubstr(": No space left on device\n"));
  const auto worker = StartWorker();
  ExpectFourTrialsEndWell(*worker, *tune);
}

// As of a worker that was lost between a checkpoint that it had sent and the report of it.
TEST_F(Elsewhere, ACheckpointThatNobodyToldOfGoesAtTheEndOfTheSweep) {
  WriteScript(
      "mkdir -p $TUNE_DIR/checkpoint_000099; touch $TUNE_DIR/checkpoint_000099/manifest.json\n"
      "tune report acc=0.5 --checkpoint run.sh\n");
  home_.Write("code/run.sh", "");
  Space();
  const auto tune = StartTuner();
  const auto worker = StartWorker("", "cache", /*sees_home=*/true);
  ExpectFourTrialsEndWell(*worker, *tune);
  EXPECT_THAT(NamesIn(home_ / "tune.artifacts/space/0"), ::testing::Contains("checkpoint_000001"));
  EXPECT_THAT(NamesIn(home_ / "tune.artifacts/space/0"),
              ::testing::Not(::testing::Contains("checkpoint_000099")));
}

// It shares the artifacts, where there is room.
TEST_F(Elsewhere, AFullCacheIsTheWorkersFaultWhereTheArtifactsAreShared) {
  const SmallDisk disk(away_ / "small", 200'000);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  WriteScript("tune report acc=0.5\n");
  Space("  setup: [\"head -c 400000 /dev/zero > $TUNE_SETUP_DIR/packages\"]\n");
  const auto tune = StartTuner();
  const auto full = StartWorker("", "small", /*sees_home=*/true);
  const ProgramResult left = full->Wait();
  EXPECT_EQ(left.exit_status, 1);
  EXPECT_THAT(left.err, HasSubstr("tune worker: this worker's disk takes no writes: "));
  EXPECT_THAT(left.err, HasSubstr("No space left on device"));
  const auto worker = StartWorker("", "cache", /*sees_home=*/true);
  ExpectFourTrialsEndWell(*worker, *tune);
}

TEST_F(Elsewhere, AMachineWithoutTheProgramGivesItsTrialsBackAndLeaves) {
  home_.Write("tool", "#!/bin/sh\ntune report acc=0.5\n");
  chmod((home_ / "tool").c_str(), 0755);
  home_.Write("space.yaml", "trainable:\n  command: [" + (home_ / "tool") +
                                "]\n  working_dir: code\nmetric: acc\nmode: max\n"
                                "space: {x: {uniform: [0, 1]}}\nsamples: 4\n");
  const auto tune = StartTuner();
  const auto without = StartWorker();
  const ProgramResult left = without->Wait();
  EXPECT_EQ(left.exit_status, 1);
  EXPECT_THAT(left.err, HasSubstr("tune worker: this worker has not what the trials need: cannot "
                                  "start '" +
                                  (home_ / "tool") + "': there is no file"));
  const auto worker = StartWorker("", "cache", /*sees_home=*/true);
  ExpectFourTrialsEndWell(*worker, *tune);
}

TEST_F(Elsewhere, AProgramThatAParameterNamesIsTheConfigurationsMatter) {
  home_.Write("space.yaml",
              "trainable:\n  command: [\"{program}\"]\n  working_dir: code\nmetric: acc\n"
              "mode: max\nspace: {program: {grid_search: [./trial.sh, ./no-such.sh]}}\n");
  const auto tune = StartTuner();
  const auto worker = StartWorker();
  EXPECT_TRUE(Succeeded(worker->Wait()));
  tune->Wait();
  EXPECT_EQ(Rows("select outcome, count(*) from attempts group by outcome order by outcome"),
            (std::vector<std::string>{"bad_config|1", "completed|1"}));
}

TEST_F(Elsewhere, AHeadSendsTheFolderOfASweepThatWasSubmittedBeforeItListened) {
  WriteScript(
      "until test -e go; do sleep 0.01; done\n"
      "value=$(cat lib/value.txt); tune report acc=$value\n");
  {
    const auto head = StartHead(home_, {"--cpus", "1"});
    EXPECT_TRUE(Succeeded(RunTune(home_, {"submit", Space()})));
    head->Signal(SIGKILL);
    head->Wait();
  }
  home_.Write("code/go", "");
  const auto head = StartHead(home_, {"--cpus", "0", "--listen", "127.0.0.1:0"});
  join_ = WaitForJoinLine(*head);
  const auto worker = StartWorker();
  WaitForRows(home_, "select status from experiments", {"FINISHED"});
  EXPECT_EQ(Rows("select count(*), min(value), max(value) from reports"),
            std::vector<std::string>{"4|0.5|0.5"});
  EXPECT_THAT(NamesIn(Copy()), ElementsAre("go", "lib", "trial.sh"));
}

TEST_F(Elsewhere, AFolderThatIsTooLargeIsRefusedBeforeAnythingStarts) {
  home_.Write("code/large", "");
  fs::resize_file(home_ / "code/large", limits::kPackageBytesMax);
  const std::vector<std::string> arguments = {"run", Space(),    "--cpus",
                                              "0",   "--listen", FreePlace()};
  const ProgramResult result = RunTune(home_, arguments);
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_THAT(result.err, HasSubstr("tune: trainable: working_dir: " + (home_ / "code") +
                                    ": it holds more than 536870912 bytes, too much"));
  EXPECT_FALSE(fs::exists(home_ / "tune.db"));
  // What it says helps.
  home_.Write("code/.tuneignore", "large\n");
  RunSweep();
  EXPECT_THAT(NamesIn(Copy()), ::testing::Not(::testing::Contains("large")));
}

}  // namespace
}  // namespace tune::testing
