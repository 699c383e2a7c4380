// Real processes on two machines' networks: what the link does to a sweep, and what it must not.
#include <gtest/gtest.h>

#include "tests/e2e/delaying_forwarder.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/network_rig.h"
#include "tests/e2e/program.h"

namespace tune {
namespace {

using testing::DelayingForwarder;
using testing::JoinLine;
using testing::NetworkRig;
using testing::Program;
using testing::ProgramResult;
using testing::Query;
using testing::RunTune;
using testing::TestFolder;
using testing::WaitForJoinLine;
using testing::WhyNoNetwork;

// Fifo and deterministic: the answer is the same, however it comes about.
std::string Space(int iterations = 5, const std::string& rest = "") {
  return "trainable:\n  curve:\n    value: \"(x - 0.3)^2 + exp(-0.2 * t)\"\n    iterations: " +
         std::to_string(iterations) +
         "\nmetric: loss\nmode: min\nsamples: 8\nseed: 11\nspace: {x: {uniform: [0, 1]}}\n" + rest;
}

std::vector<std::string> FinalTable(const TestFolder& folder) {
  return Query(folder,
               "select number, status, stop_reason, config, iterations, best_value, "
               "best_iteration, last_value from trials order by number");
}

// Of a sweep that nothing disturbed.
std::vector<std::string> UndisturbedTable(const std::string& space) {
  TestFolder folder;
  const ProgramResult result = RunTune(folder, {"run", folder.Write("space.yaml", space)});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  return FinalTable(folder);
}

// A tuner without a worker of its own on one machine, a worker on another.
class Network : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNoNetwork(); !reason.empty()) GTEST_SKIP() << reason;
    rig_ = std::make_unique<NetworkRig>();
  }

  std::unique_ptr<Program> StartTuner(const std::string& space) {
    space_ = space;
    auto tune = std::make_unique<Program>(
        folder_, "tune",
        std::vector<std::string>{"run", folder_.Write("space.yaml", space), "--cpus", "0",
                                 "--listen", rig_->tuner_host() + std::string(":0")},
        rig_->tuner_network());
    join_ = WaitForJoinLine(*tune);
    EXPECT_NE(join_.token, "");
    return tune;
  }
  std::unique_ptr<Program> StartWorker() {
    return std::make_unique<Program>(folder_, "tune", join_.Worker({"--cpus", "2"}),
                                     rig_->worker_network());
  }
  // Both end well, and the answer is that of an undisturbed sweep.
  void ExpectAnswer(Program& tune, Program& worker) {
    const ProgramResult worker_result = worker.Wait();
    ASSERT_EQ(worker_result.exit_status, 0) << worker_result.err;
    const ProgramResult result = tune.Wait();
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(FinalTable(folder_), UndisturbedTable(space_));
  }

  TestFolder folder_;
  std::unique_ptr<NetworkRig> rig_;
  JoinLine join_;
  std::string space_;
};

TEST_F(Network, AWorkerOnAnotherMachineRunsTheSweep) {
  const auto tune = StartTuner(Space());
  const auto worker = StartWorker();
  ExpectAnswer(*tune, *worker);
  EXPECT_EQ(Query(folder_, "select address like '10.77.0.2:%' from workers"),
            std::vector<std::string>{"1"});
}

TEST_F(Network, ALinkThatLosesPacketsChangesNothing) {
  const auto tune = StartTuner(Space(30));
  rig_->Lose(5);
  const auto worker = StartWorker();
  ExpectAnswer(*tune, *worker);
  EXPECT_GT(rig_->DroppedCount(), 0);
}

TEST_F(Network, ASlowLinkChangesNothing) {
  rig_->SlowDown("128kbit");
  const auto tune = StartTuner(Space());
  const auto worker = StartWorker();
  ExpectAnswer(*tune, *worker);
}

TEST(LongWay, ADelayChangesNothing) {
  TestFolder folder;
  Program tune(
      folder, "tune",
      {"run", folder.Write("space.yaml", Space()), "--cpus", "0", "--listen", "127.0.0.1:0"});
  JoinLine join = WaitForJoinLine(tune);
  DelayingForwarder forwarder(join.address, 25);
  join.address = forwarder.address();
  Program worker(folder, "tune", join.Worker({"--cpus", "2"}));
  ASSERT_EQ(worker.Wait().exit_status, 0);
  EXPECT_EQ(tune.Wait().exit_status, 0);
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(Space()));
}

}  // namespace
}  // namespace tune
