// Real processes on two machines' networks: what the link does to a sweep, and what it must not.
#include <gtest/gtest.h>

#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/delaying_forwarder.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/network_rig.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

// Fifo and deterministic: the answer is the same, however it comes about.
std::string Space(int iterations = 5, int samples = 8, const std::string& rest = "") {
  return CurveSweep("    iterations: " + std::to_string(iterations) + "\n",
                    "samples: " + std::to_string(samples) + "\n" + rest);
}

// A tuner without a worker of its own on one machine, a worker on another.
class Network : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNoNetwork(); !reason.empty()) GTEST_SKIP() << reason;
    rig_ = std::make_unique<NetworkRig>();
  }

  std::unique_ptr<Program> StartTuner(const std::string& space) {
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
  void ExpectAnswer(Program& tune, Program& worker, const std::string& space = Space()) {
    const ProgramResult worker_result = worker.Wait();
    ASSERT_EQ(worker_result.exit_status, 0) << worker_result.err;
    const ProgramResult result = tune.Wait();
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(FinalTable(folder_), UndisturbedTable(space));
  }

  TestFolder folder_;
  std::unique_ptr<NetworkRig> rig_;
  JoinLine join_;
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
  ExpectAnswer(*tune, *worker, Space(30));
  EXPECT_GT(rig_->DroppedCount(), 0);
}

TEST_F(Network, ASlowLinkChangesNothing) {
  rig_->SlowDown("128kbit");
  const auto tune = StartTuner(Space());
  const auto worker = StartWorker();
  ExpectAnswer(*tune, *worker);
}

// ---- connections that break
//
// A lease of seconds instead of a minute; trials that last as long as it takes to break something.

std::string FastSpace() { return Space(40, 4); }
// The same sweep.
std::string SlowSpace(const std::string& lease) {
  std::string space = Space(40, 4, "limits: {lease: " + lease + "}\n");
  const std::string at = "    iterations:";
  return space.insert(space.find(at), "    seconds: 0.05\n");
}

// Every trial needed one attempt, which the break did not end.
void ExpectOneAttemptEach(const TestFolder& folder) {
  EXPECT_EQ(Query(folder, "select count(*), sum(outcome = 'completed') from attempts"),
            std::vector<std::string>{"4|4"});
}

TEST_F(Network, ATrialGoesOnThroughAPartitionThatHealsWithinTheLease) {
  const auto tune = StartTuner(SlowSpace("12s"));
  const auto worker = StartWorker();
  WaitForReports(folder_, 4);
  rig_->Partition();
  ASSERT_TRUE(worker->WaitForText("trying again"));
  rig_->Heal();
  ExpectAnswer(*tune, *worker, FastSpace());
  ExpectOneAttemptEach(folder_);
}

TEST_F(Network, StatusNamesTheWorkerOfWhichNothingIsHeard) {
  const auto tune = StartTuner(SlowSpace("60s"));
  const auto worker = StartWorker();
  WaitForReports(folder_, 4);
  EXPECT_EQ(RunTune(folder_, {"status"}).out.find("has not been heard of"), std::string::npos);
  rig_->Partition();
  while (RunTune(folder_, {"status"}).out.find("has not been heard of for ") == std::string::npos) {
  }
  rig_->Heal();
  ExpectAnswer(*tune, *worker, FastSpace());
  ExpectOneAttemptEach(folder_);
}

TEST_F(Network, AConnectionThatIsResetIsMadeAgain) {
  const auto tune = StartTuner(SlowSpace("12s"));
  const auto worker = StartWorker();
  WaitForReports(folder_, 4);
  rig_->Reset();
  ASSERT_TRUE(worker->WaitForText("trying again"));
  rig_->Heal();
  ExpectAnswer(*tune, *worker, FastSpace());
  ExpectOneAttemptEach(folder_);
}

TEST_F(Network, APartitionLongerThanTheLeaseGivesTheTrialsToAnotherWorker) {
  const auto tune = StartTuner(SlowSpace("4s"));
  const auto worker = StartWorker();
  WaitForReports(folder_, 4);
  rig_->Partition();
  Program other(folder_, "tune", join_.Worker({"--cpus", "2", "--name", "other"}),
                rig_->tuner_network());
  // It gives up by itself, and nothing of it stays: its standard error has no holder left.
  const ProgramResult cut_off = worker->Wait();
  EXPECT_EQ(cut_off.exit_status, 1);
  EXPECT_NE(cut_off.err.find("nothing was heard of the tuner for"), std::string::npos)
      << cut_off.err;
  rig_->Heal();
  ExpectAnswer(*tune, other, FastSpace());
  EXPECT_EQ(Query(folder_, "select count(*) between 1 and 2 from attempts where outcome = 'lost'"),
            std::vector<std::string>{"1"});
}

TEST_F(Network, WhatAWorkerSaysAfterItsLeaseHasNoEffect) {
  const auto tune = StartTuner(SlowSpace("3s"));
  const auto worker = StartWorker();
  WaitForReports(folder_, 4);
  // A machine that sleeps: its clock's lease and its connection look whole to it when it wakes.
  worker->Signal(SIGSTOP);
  Program other(folder_, "tune", join_.Worker({"--cpus", "2", "--name", "other"}),
                rig_->tuner_network());
  ASSERT_TRUE(tune->WaitForText("is lost"));
  WaitForRows(folder_, "select count(*) > 3 from reports where attempt = 2", {"1"});
  worker->Signal(SIGCONT);
  EXPECT_NE(worker->Wait().exit_status, 0);
  ExpectAnswer(*tune, other, FastSpace());
  EXPECT_EQ(Query(folder_,
                  "select count(*) from (select trial, iteration from reports r where "
                  "attempt = 1 and exists (select 1 from reports l where l.trial = "
                  "r.trial and l.attempt = 2 and l.reported_at < r.reported_at))"),
            std::vector<std::string>{"0"});
}

TEST_F(Network, ATunerThatWasKilledFindsItsWorkersAgain) {
  const auto tune = StartTuner(SlowSpace("30s"));
  const auto worker = StartWorker();
  WaitForReports(folder_, 4);
  tune->Signal(SIGKILL);
  tune->Wait();
  ASSERT_TRUE(worker->WaitForText("trying again"));
  Program resumed(folder_, "tune", {"resume", "--cpus", "0"}, rig_->tuner_network());
  ExpectAnswer(resumed, *worker, FastSpace());
  ExpectOneAttemptEach(folder_);
}

TEST_F(Network, AWorkerWhoseTunerNeverComesBackEndsWithItsLease) {
  const auto tune = StartTuner(SlowSpace("3s"));
  const auto worker = StartWorker();
  WaitForReports(folder_, 4);
  tune->Signal(SIGKILL);
  tune->Wait();
  const ProgramResult left = worker->Wait();  // Its trials too: they hold its standard error.
  EXPECT_EQ(left.exit_status, 1);
  EXPECT_NE(left.err.find("nothing was heard of the tuner for"), std::string::npos) << left.err;
}

TEST(LongWay, ADelayChangesNothing) {
  TestFolder folder;
  Program tune(
      folder, "tune",
      {"run", folder.Write("space.yaml", Space()), "--cpus", "0", "--listen", FreePlace()});
  JoinLine join = WaitForJoinLine(tune);
  DelayingForwarder forwarder(join.address, 25);
  join.address = forwarder.address();
  Program worker(folder, "tune", join.Worker({"--cpus", "2"}));
  ASSERT_TRUE(Succeeded(worker.Wait()));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(Space()));
}

}  // namespace
}  // namespace tune::testing
