// tune cluster with a real Slurm: jobs are workers, and what becomes of them is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/json.h"
#include "tests/e2e/cluster_files.h"
#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/program.h"
#include "tests/e2e/slurm_rig.h"

namespace tune::testing {
namespace {

using ::testing::HasSubstr;

class SlurmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoSlurm(); !why.empty()) GTEST_SKIP() << why;
    rig_.emplace();
  }
  void TearDown() override {
    if (rig_) Tune({"cluster", "down", "cluster.yaml", "--now", "--wait", "60s"});
    EndHead(folder_);
    rig_.reset();
  }

  void WriteFile(const std::string& more) const {
    folder_.Write("cluster.yaml", "name: test\nhead: {listen: \"127.0.0.1:" + port_ +
                                      "\"}\npools:\n  gpu:\n" + more);
  }
  ProgramResult Tune(const std::vector<std::string>& arguments) const {
    return RunTune(folder_, arguments);
  }
  std::string Squeue(const std::string& states) const {
    return rig_->Ask("squeue --array --noheader --states=" + states + " --format='%j %K'");
  }
  static int64_t Lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  }
  std::string Status() const {
    return Tune({"cluster", "status", "cluster.yaml", "--format", "json"}).out;
  }

  TestFolder folder_;
  const std::string port_ = std::to_string(FreePorts(1).front());
  std::optional<SlurmRig> rig_;
};

TEST_F(SlurmTest, WorkersAreJobsForAsLongAsThereIsWork) {
  WriteFile(
      "    slurm: {partition: gpu}\n    worker: {cpus: 1, gpus: 1}\n    max: 6\n    idle: 1s\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  EXPECT_EQ(Squeue("pending,running,completing"), "");
  folder_.Write("space.yaml", CurveSweep("    iterations: 4\n    seconds: 0.05\n",
                                         "samples: 24\nresources: {cpu: 1, gpu: 0.5}\n"));
  const ProgramResult submitted = Tune({"submit", "space.yaml"});
  ASSERT_EQ(submitted.exit_status, 0) << submitted.err;
  WaitForRows(folder_, "select status from experiments", {"FINISHED"});
  EXPECT_EQ(Query(folder_, "select count(*) from trials where status = 'TERMINATED'"),
            std::vector<std::string>{"24"});
  EXPECT_EQ(Query(folder_, "select max(gpus) from workers"), std::vector<std::string>{"1"});
  while (!Squeue("pending,running,completing").empty()) {
  }
  const ProgramResult down = Tune({"cluster", "down"});
  EXPECT_EQ(down.exit_status, 0) << down.err;
  // Neither the script nor what it says has the token.
  const std::string token = folder_.Read("tune.artifacts/cluster/token");
  EXPECT_GT(token.size(), 40u);
  for (const auto& entry :
       std::filesystem::directory_iterator(folder_ / "tune.artifacts/cluster")) {
    const std::string name = entry.path().filename().string();
    if (name == "token") continue;
    EXPECT_EQ(folder_.Read("tune.artifacts/cluster/" + name).find(token), std::string::npos)
        << name;
  }
}

TEST_F(SlurmTest, JobThatPendsIsShownWithSlurmsReasonAndManyAreOneArray) {
  WriteFile(
      "    slurm: {partition: gpu}\n    worker: {cpus: 1, gpus: 1}\n    min: 10\n    max: 10\n");
  // There are eight GPUs.
  EXPECT_TRUE(
      Says(folder_, {"cluster", "up"}, {"-gpu-10  requested: Resources", "-gpu-1  joined"}));
  while (Lines(Squeue("running")) != 8) {
  }
  EXPECT_EQ(Lines(Squeue("pending")), 2);
  EXPECT_EQ(Lines(rig_->Ask("squeue --noheader --format=%F | sort -u")), 1);
  const ProgramResult down = Tune({"cluster", "down"});
  EXPECT_EQ(down.exit_status, 0) << down.err;
  EXPECT_EQ(Squeue("pending,running"), "");
}

TEST_F(SlurmTest, ExampleRunsAsItStands) {
  WriteExample(folder_, "slurm.yaml", {{"0.0.0.0:7443", "127.0.0.1:" + port_}});
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  folder_.Write("space.yaml", CurveSweep("    iterations: 2\n    seconds: 0.05\n",
                                         "samples: 6\nresources: {cpu: 4, gpu: 1}\n"));
  ASSERT_TRUE(Succeeded(Tune({"submit", "space.yaml"})));
  WaitForRows(folder_, "select status from experiments", {"FINISHED"});
  const ProgramResult down = Tune({"cluster", "down"});
  EXPECT_EQ(down.exit_status, 0) << down.err;
  EXPECT_EQ(Squeue("pending,running"), "");
}

TEST_F(SlurmTest, RefusalOfSbatchIsTold) {
  WriteFile("    slurm: {partition: nowhere}\n    worker: {cpus: 1}\n    min: 1\n");
  EXPECT_TRUE(Says(folder_, {"cluster", "up"}, {"Invalid partition name"}));
}

TEST_F(SlurmTest, JobThatIsCancelledIsReplacedAndItsTrialGoesOn) {
  WriteFile("    slurm: {partition: gpu}\n    worker: {cpus: 1}\n    max: 1\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  folder_.Write("space.yaml",
                CurveSweep("    iterations: 100000\n    seconds: 0.05\n    checkpoint_bytes: 100\n",
                           "samples: 1\ncheckpoint: {every: 1}\n"));
  ASSERT_TRUE(Succeeded(Tune({"submit", "space.yaml"})));
  WaitForReports(folder_, 3);
  rig_->Ask("scancel --me");
  WaitForRows(folder_, "select count(*) from attempts where outcome = 'preempted'", {"1"});
  WaitForRows(folder_, "select from_iteration >= 3 from attempts where outcome = 'running'", {"1"});
}

// The head's own environment has that of its job, which its workers' jobs must not take over.
TEST_F(SlurmTest, HeadMayBeAJobItself) {
  WriteFile("    slurm: {partition: gpu}\n    worker: {cpus: 2}\n    max: 2\n    idle: 1s\n");
  const std::string head = BinDir() + "/tune";
  rig_->Ask("sbatch --job-name=head --cpus-per-task=1 --chdir=" + folder_.path() + " --output=" +
            (folder_ / "head.log") + " --wrap 'exec " + head + " head --cluster cluster.yaml'");
  while (folder_.Read("head.log").find("the head runs") == std::string::npos) {
    ASSERT_NE(rig_->Ask("squeue --noheader --name=head"), "") << folder_.Read("head.log");
  }
  folder_.Write("space.yaml", CurveSweep("    iterations: 4\n    seconds: 0.05\n",
                                         "samples: 8\nresources: {cpu: 1}\n"));
  ASSERT_TRUE(Succeeded(Tune({"submit", "space.yaml"})));
  WaitForRows(folder_, "select status from experiments", {"FINISHED"});
  EXPECT_EQ(Query(folder_, "select max(cpus) from workers"), std::vector<std::string>{"2.0"});
  // Slurm ends the head's job: its workers leave, and nothing of theirs is left.
  rig_->Ask("scancel --name=head");
  while (!rig_->Ask("squeue --noheader --name=head").empty()) {
  }
  EXPECT_TRUE(Succeeded(Tune({"cluster", "down"})));
  EXPECT_EQ(Squeue("pending,running"), "");
}

TEST_F(SlurmTest, HeadThatIsKilledFindsItsJobsAgain) {
  WriteFile(
      "    slurm: {partition: gpu}\n    worker: {cpus: 1, gpus: 1}\n    min: 3\n    max: 3\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  const std::string before = Squeue("running");
  KillHead(folder_);
  const ProgramResult up = Tune({"cluster", "up"});
  EXPECT_EQ(up.exit_status, 0) << up.err;
  EXPECT_EQ(Squeue("pending,running,completing"), before);
}

}  // namespace
}  // namespace tune::testing
