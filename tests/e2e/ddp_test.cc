// examples/pytorch-ddp as a user runs it: two ranks that train one model by Debian's PyTorch and
// Gloo. Whatever breaks them off, the losses are those of a sweep that nobody disturbed, to the
// last bit. Skips where PyTorch is not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/join_line.h"
#include "tests/e2e/network_rig.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<std::string>;

constexpr int kEpochs = 40;

// Debian's, and not another one that stands before it.
std::string WhyNoTorch() {
  static const bool is_there =
      std::system(
          "/usr/bin/python3 -c 'import torch.distributed as d; exit(not d.is_available())'"
          " >/dev/null 2>&1") == 0;
  return is_there ? "" : "no PyTorch with torch.distributed for /usr/bin/python3 (python3-torch)";
}

std::string Space(const std::string& more = "") {
  return "trainable: {command: [/usr/bin/python3, train.py, --lr, \"{lr}\", --epochs, \"" +
         std::to_string(kEpochs) +
         "\"]}\n"
         "metric: val_loss\nmode: min\nsamples: 1\nseed: 7\nspace: {lr: 0.05}\n"
         "resources: {cpu: 1, workers: 2, spread: true}\n"
         "failure: {max_failures: 1, backoff: 0}\n" +
         more;
}

Rows Losses(const TestFolder& folder) {
  return Query(folder, "select iteration, printf('%.17g', value) from reports order by iteration");
}

void WriteProgram(const TestFolder& folder) {
  std::filesystem::copy_file(std::string(TUNE_SOURCE_DIR) + "/examples/pytorch-ddp/train.py",
                             folder / "train.py");
}

// Of a sweep of one machine that nobody disturbs; run once.
const Rows& UndisturbedLosses() {
  static const Rows losses = [] {
    TestFolder folder;
    WriteProgram(folder);
    const ProgramResult result =
        RunTune(folder, {"run", folder.Write("space.yaml", Space()), "--cpus", "2"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(Query(folder, "select outcome, error from attempts"), Rows{"completed|"});
    EXPECT_THAT(RunTune(folder, {"logs", "0", "--rank", "1"}).out,
                HasSubstr("rank 1 of 2 is done"));
    return Losses(folder);
  }();
  EXPECT_EQ(losses.size(), static_cast<size_t>(kEpochs));
  return losses;
}

// A sweep whose two ranks need a worker each, and whose workers come from elsewhere. Networks are
// those of Program.
class JoinedSweep {
 public:
  explicit JoinedSweep(const std::string& more, const std::string& host = "127.0.0.1",
                       const std::string& network = "") {
    WriteProgram(folder_);
    tune_ = std::make_unique<Program>(folder_, "tune",
                                      Rows{"run", folder_.Write("space.yaml", Space(more)),
                                           "--cpus", "0", "--listen", host + ":0"},
                                      network);
    join_ = WaitForJoinLine(*tune_);
    EXPECT_NE(join_.token, "");
  }
  const TestFolder& folder() const { return folder_; }
  // Each has a cache of its own, as on a machine of its own.
  Program Worker(const std::string& name, const std::string& network = "") const {
    return Program(folder_, "tune",
                   join_.Worker({"--cpus", "1", "--name", name, "--cache", folder_ / name}),
                   network);
  }
  void ExpectUndisturbedEnd() {
    const ProgramResult result = tune_->Wait();
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(Query(folder_, "select count(*) from attempts where outcome = 'completed'"),
              Rows{"1"});
    EXPECT_EQ(Losses(folder_), UndisturbedLosses());
  }

 private:
  TestFolder folder_;
  std::unique_ptr<Program> tune_;
  JoinLine join_;
};

class Ddp : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNoTorch(); !reason.empty()) GTEST_SKIP() << reason;
    UndisturbedLosses();
  }
};

TEST_F(Ddp, ComesToTheSameLossesAfterAWorkerIsKilled) {
  JoinedSweep sweep("limits: {lease: 3s}\n");
  Program first = sweep.Worker("a");
  Program second = sweep.Worker("b");
  WaitForReports(sweep.folder(), 3);
  second.Signal(SIGKILL);
  Program third = sweep.Worker("c");
  sweep.ExpectUndisturbedEnd();
  EXPECT_EQ(first.Wait().exit_status, 0);
  EXPECT_EQ(third.Wait().exit_status, 0);
  EXPECT_EQ(Query(sweep.folder(),
                  "select number, outcome <> 'completed', from_iteration >= 3"
                  " from attempts"),
            (Rows{"1|1|0", "2|0|1"}));
}

class DdpOfTwoMachines : public Ddp {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNoNetwork(); !reason.empty()) GTEST_SKIP() << reason;
    Ddp::SetUp();
    if (!IsSkipped()) rig_ = std::make_unique<NetworkRig>();
  }
  std::unique_ptr<NetworkRig> rig_;
};

TEST_F(DdpOfTwoMachines, ComesToTheLossesOfOne) {
  JoinedSweep sweep("", rig_->tuner_host(), rig_->tuner_network());
  Program here = sweep.Worker("here", rig_->tuner_network());
  Program there = sweep.Worker("there", rig_->worker_network());
  sweep.ExpectUndisturbedEnd();
  EXPECT_EQ(here.Wait().exit_status, 0);
  EXPECT_EQ(there.Wait().exit_status, 0);
}

// A rank that sends hears of it and fails; one that waits for the other is ended with it, or with
// its worker's lease.
TEST_F(DdpOfTwoMachines, ComesToTheSameLossesAfterTheLinkBetweenThemIsReset) {
  JoinedSweep sweep("limits: {lease: 4s}\n", rig_->tuner_host(), rig_->tuner_network());
  Program here = sweep.Worker("here", rig_->tuner_network());
  Program there = sweep.Worker("there", rig_->worker_network());
  WaitForReports(sweep.folder(), 3);
  rig_->Reset();
  WaitForRows(sweep.folder(), "select count(*) > 0 from attempts where finished_at is not null",
              {"1"});
  rig_->Heal();
  // The one of before may have ended with its lease.
  Program back = sweep.Worker("back", rig_->worker_network());
  sweep.ExpectUndisturbedEnd();
  EXPECT_EQ(here.Wait().exit_status, 0);
  EXPECT_EQ(back.Wait().exit_status, 0);
}

}  // namespace
}  // namespace tune::testing
