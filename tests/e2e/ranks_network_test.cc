// One trial that trains over two machines: network namespaces, a worker with one rank in each.
#include <gtest/gtest.h>

#include "tests/e2e/join_line.h"
#include "tests/e2e/network_rig.h"
#include "tests/e2e/program.h"
#include "tests/e2e/rank_sweep.h"

namespace tune::testing {
namespace {

class RanksOfTwoMachines : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNoNetwork(); !reason.empty()) GTEST_SKIP() << reason;
    rig_ = std::make_unique<NetworkRig>();
  }

  std::unique_ptr<Program> StartTuner(const std::string& more = "") {
    auto tune = std::make_unique<Program>(
        folder_, "tune",
        std::vector<std::string>{"run", folder_.Write("space.yaml", RankSpace(more)), "--cpus", "0",
                                 "--listen", rig_->tuner_host() + std::string(":0")},
        rig_->tuner_network());
    join_ = WaitForJoinLine(*tune);
    EXPECT_NE(join_.token, "");
    return tune;
  }
  std::unique_ptr<Program> StartWorker(const std::string& name, const std::string& network) {
    return std::make_unique<Program>(folder_, "tune", join_.Worker({"--cpus", "1", "--name", name}),
                                     network);
  }

  TestFolder folder_;
  std::unique_ptr<NetworkRig> rig_;
  JoinLine join_;
};

TEST_F(RanksOfTwoMachines, EndWithTheBitsOfOne) {
  const auto tune = StartTuner();
  const auto here = StartWorker("here", rig_->tuner_network());
  const auto there = StartWorker("there", rig_->worker_network());
  const ProgramResult result = tune->Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(here->Wait().exit_status, 0);
  EXPECT_EQ(there->Wait().exit_status, 0);
  EXPECT_EQ(Query(folder_,
                  "select outcome, error, '[' || (3 - worker) || ']' = other_workers"
                  " from attempts"),
            std::vector<std::string>{"completed||1"});
  EXPECT_NE(result.err.find("neither encrypted nor authenticated"), std::string::npos)
      << result.err;
  EXPECT_EQ(EndState(folder_), UndisturbedEnd());
}

TEST_F(RanksOfTwoMachines, GoOnThroughALinkThatLosesPackets) {
  const auto tune = StartTuner();
  rig_->Lose(2);
  const auto here = StartWorker("here", rig_->tuner_network());
  const auto there = StartWorker("there", rig_->worker_network());
  const ProgramResult result = tune->Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_GT(rig_->DroppedCount(), 0);
  EXPECT_EQ(Query(folder_, "select outcome from attempts"), std::vector<std::string>{"completed"});
  EXPECT_EQ(EndState(folder_), UndisturbedEnd());
}

// Nothing tells a rank that waits for the other that the cable is pulled; that the other's worker
// is gone is known when its lease is over.
TEST_F(RanksOfTwoMachines, AreEndedByAPulledCableAndGoOnFromTheirCheckpoint) {
  const auto tune = StartTuner("limits: {lease: 4s}\n");
  const auto here = StartWorker("here", rig_->tuner_network());
  const auto there = StartWorker("there", rig_->worker_network());
  WaitForReports(folder_, 3);
  rig_->Partition();
  const ProgramResult cut_off = there->Wait();
  EXPECT_EQ(cut_off.exit_status, 1);
  EXPECT_NE(cut_off.err.find("nothing was heard of the tuner for"), std::string::npos)
      << cut_off.err;
  rig_->Heal();
  const auto back = StartWorker("back", rig_->worker_network());
  const ProgramResult result = tune->Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(here->Wait().exit_status, 0);
  EXPECT_EQ(back->Wait().exit_status, 0);
  EXPECT_EQ(Query(folder_, "select number, outcome, from_iteration >= 3 from attempts"),
            (std::vector<std::string>{"1|lost|0", "2|completed|1"}));
  EXPECT_EQ(EndState(folder_), UndisturbedEnd());
}

// A rank that sends hears of it and ends; one that waits for the other is ended with its worker's
// lease.
TEST_F(RanksOfTwoMachines, WhoseConnectionIsResetGoOnFromTheirCheckpoint) {
  const auto tune = StartTuner("limits: {lease: 4s}\n");
  const auto here = StartWorker("here", rig_->tuner_network());
  const auto there = StartWorker("there", rig_->worker_network());
  WaitForReports(folder_, 3);
  rig_->Reset();
  const std::string has_ended = "select count(*) from attempts where finished_at is not null";
  while (Query(folder_, has_ended) == std::vector<std::string>{"0"}) {
  }
  rig_->Heal();
  const auto back = StartWorker("back", rig_->worker_network());
  const ProgramResult result = tune->Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder_, "select outcome <> 'completed' from attempts where number = 1"),
            std::vector<std::string>{"1"});
  EXPECT_EQ(Query(folder_, "select count(*) from attempts where outcome = 'completed'"),
            std::vector<std::string>{"1"});
  EXPECT_EQ(EndState(folder_), UndisturbedEnd());
}

}  // namespace
}  // namespace tune::testing
