// Checkpoints that are durable some time after their reports were answered: what a trial goes on
// from, whatever became of it meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/controller_world.h"

namespace tune {
namespace {

using testing::ControllerWorld;
using ::testing::ElementsAre;

constexpr TrialNumber kFirst{0};

class ControllerAsync : public ::testing::Test {
 protected:
  void SetUp() override {
    ExperimentSpec spec = ControllerWorld::MakeSpec(/*samples=*/1);
    spec.checkpoint.is_async = true;
    spec.failure.max_failures = 3;
    spec.failure.backoff = {};
    world_ = std::make_unique<ControllerWorld>(spec);
    worker_ = world_->JoinConnected(1, "s");
  }

  void Report(double value, bool final = false) {
    Event event = world_->NextReport(worker_, kFirst, value, final, /*with_checkpoint=*/false);
    std::get<ReportArrived>(event).message.report.checkpoint_follows = true;
    world_->Apply({event});
  }
  CheckpointArrived Kept(int64_t iteration) {
    const AttemptRef ref = world_->Running(worker_).at(kFirst).start.ref;
    const std::string path = "/artifacts/sweep/0/checkpoint_" + std::to_string(iteration) + "." +
                             std::to_string(ref.attempt.value);
    return {worker_, {ref, iteration, {path, 100, "00"}}};
  }
  void Keep(int64_t iteration) { world_->Apply({Kept(iteration)}); }
  void Crash() { world_->Apply({world_->End(worker_, kFirst, Outcome::kCrashed)}); }
  const StartAttempt& Start() { return world_->Running(worker_).at(kFirst).start; }
  std::vector<int64_t> Durable() {
    std::vector<int64_t> iterations;
    for (const auto& [key, row] : world_->checkpoints) {
      if (row.state == CheckpointState::kDurable) iterations.push_back(key.second);
    }
    return iterations;
  }

  std::unique_ptr<ControllerWorld> world_;
  WorkerId worker_;
};

TEST_F(ControllerAsync, AReportWhoseCheckpointIsOnItsWayHasNoRowOfOne) {
  Report(0.5);
  EXPECT_THAT(Durable(), ElementsAre());
  Keep(1);
  EXPECT_THAT(Durable(), ElementsAre(1));
}

TEST_F(ControllerAsync, ATrialGoesOnFromItsLastDurableCheckpointAndRepeatsNoDecision) {
  Report(0.5);
  Keep(1);
  Report(0.4);
  Report(0.3);
  const size_t decided = world_->reports.size();
  Crash();
  EXPECT_EQ(Start().from_iteration, 1);
  EXPECT_EQ(Start().checkpoint_path, "/artifacts/sweep/0/checkpoint_1.1");
  world_->Running(worker_).at(kFirst).iteration = 1;
  Report(0.4);
  Report(0.3);
  ASSERT_EQ(world_->reports.size(), decided + 2);
  EXPECT_FALSE(world_->reports[decided].decision.has_value()) << "it was decided before";
  EXPECT_FALSE(world_->reports[decided + 1].decision.has_value());
  Keep(3);
  Crash();
  EXPECT_EQ(Start().from_iteration, 3);
  EXPECT_EQ(Start().checkpoint_path, "/artifacts/sweep/0/checkpoint_3.2");
}

TEST_F(ControllerAsync, ACheckpointThatOvertookAnotherIsNotOvertakenByIt) {
  Report(0.5);
  Report(0.4);
  const CheckpointArrived first = Kept(1);
  Keep(2);
  world_->Apply({first});
  EXPECT_THAT(Durable(), ElementsAre(2));
  Crash();
  EXPECT_EQ(Start().from_iteration, 2);
}

TEST_F(ControllerAsync, OneOfALeaseThatIsOverCountsForNothing) {
  Report(0.5);
  const CheckpointArrived late = Kept(1);
  Crash();
  world_->Apply({late});
  EXPECT_THAT(Durable(), ElementsAre());
  Crash();
  EXPECT_EQ(Start().from_iteration, 0);
}

TEST_F(ControllerAsync, OneOfNoReportCountsForNothing) {
  Report(0.5);
  Keep(7);
  EXPECT_THAT(Durable(), ElementsAre());
}

TEST_F(ControllerAsync, WhatComesTwiceCountsOnce) {
  Report(0.5);
  const CheckpointArrived kept = Kept(1);
  world_->Apply({kept});
  Report(0.4);
  Keep(2);
  world_->Apply({kept});
  EXPECT_THAT(Durable(), ElementsAre(1, 2)) << "the best one and the latest";
  Crash();
  EXPECT_EQ(Start().from_iteration, 2);
}

TEST_F(ControllerAsync, ATrialThatIsOverKeepsWhatComesBeforeItsAttemptEnds) {
  Report(0.5);
  world_->Apply({StopRequested{kFirst, false}});
  Report(0.4);
  EXPECT_EQ(world_->trials.at(kFirst).status, TrialStatus::kTerminated);
  Keep(2);
  EXPECT_THAT(Durable(), ElementsAre(2));
}

TEST_F(ControllerAsync, APausedTrialGoesOnFromWhatCameAfterItsPause) {
  Report(0.5);
  world_->Apply({PauseRequested{kFirst, false}});
  Report(0.4);
  EXPECT_EQ(world_->trials.at(kFirst).status, TrialStatus::kPaused);
  Keep(2);
  world_->Apply({world_->End(worker_, kFirst, Outcome::kStopped)});
  world_->Apply({UnpauseRequested{kFirst}});
  EXPECT_EQ(Start().from_iteration, 2);
}

TEST_F(ControllerAsync, AReplayComesToTheSame) {
  Report(0.5);
  Keep(1);
  Report(0.4);
  world_->Recover();
  Keep(2);
  EXPECT_THAT(Durable(), ElementsAre(1, 2));
  Crash();
  EXPECT_EQ(Start().from_iteration, 2);
}

}  // namespace
}  // namespace tune
