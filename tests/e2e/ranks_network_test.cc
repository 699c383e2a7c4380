// One trial that trains over two machines: network namespaces, a worker with one rank in each.
#include <gtest/gtest.h>

#include <memory>

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

  // The tuner and a worker on one machine, a worker on the other.
  void Start(const std::string& more = "") {
    sweep_ = std::make_unique<JoinedRankSweep>(more, rig_->tuner_host(), rig_->tuner_network());
    here_.reset(new Program(sweep_->Worker("here", rig_->tuner_network())));
    there_.reset(new Program(sweep_->Worker("there", rig_->worker_network())));
  }
  // With one more worker on the other machine.
  void ExpectToGoOn() {
    Program back = sweep_->Worker("back", rig_->worker_network());
    const ProgramResult result = sweep_->Wait();
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(Succeeded(here_->Wait()));
    EXPECT_TRUE(Succeeded(back.Wait()));
    EXPECT_EQ(EndState(sweep_->folder()), UndisturbedEnd());
  }

  std::unique_ptr<NetworkRig> rig_;
  std::unique_ptr<JoinedRankSweep> sweep_;
  std::unique_ptr<Program> here_;
  std::unique_ptr<Program> there_;
};

TEST_F(RanksOfTwoMachines, EndWithTheBitsOfOne) {
  Start();
  sweep_->ExpectUndisturbedEnd(*here_, *there_);
}

TEST_F(RanksOfTwoMachines, GoOnThroughALinkThatLosesPackets) {
  rig_->Lose(2);
  Start();
  sweep_->ExpectUndisturbedEnd(*here_, *there_);
  EXPECT_GT(rig_->DroppedCount(), 0);
}

// Nothing tells a rank that waits for the other that the cable is pulled; that the other's worker
// is gone is known when its lease is over.
TEST_F(RanksOfTwoMachines, AreEndedByAPulledCableAndGoOnFromTheirCheckpoint) {
  Start("limits: {lease: 4s}\n");
  WaitForReports(sweep_->folder(), 3);
  rig_->Partition();
  const ProgramResult cut_off = there_->Wait();
  EXPECT_EQ(cut_off.exit_status, 1);
  EXPECT_NE(cut_off.err.find("nothing was heard of the tuner for"), std::string::npos)
      << cut_off.err;
  rig_->Heal();
  ExpectToGoOn();
  EXPECT_EQ(sweep_->Ask("select number, outcome, from_iteration >= 3 from attempts"),
            (std::vector<std::string>{"1|lost|0", "2|completed|1"}));
}

// A rank that sends hears of it and ends; one that waits for the other is ended with its worker's
// lease.
TEST_F(RanksOfTwoMachines, WhoseConnectionIsResetGoOnFromTheirCheckpoint) {
  Start("limits: {lease: 4s}\n");
  WaitForReports(sweep_->folder(), 3);
  rig_->Reset();
  WaitForRows(sweep_->folder(), "select count(*) > 0 from attempts where finished_at is not null",
              {"1"});
  rig_->Heal();
  ExpectToGoOn();
  EXPECT_EQ(sweep_->Ask("select outcome <> 'completed' from attempts where number = 1"),
            std::vector<std::string>{"1"});
  EXPECT_EQ(sweep_->Ask("select count(*) from attempts where outcome = 'completed'"),
            std::vector<std::string>{"1"});
}

}  // namespace
}  // namespace tune::testing
