// Commands, causes of failures, and what a sweep does with them.
#include <gtest/gtest.h>

#include "tests/tuner/controller_world.h"

namespace tune {
namespace {

using testing::ControllerWorld;

constexpr TrialNumber kFirst{0};
constexpr TrialNumber kSecond{1};

// ---- pausing

TEST(ControllerCommands, APausedTrialStopsAtItsNextCheckpointAndGoesOnFromThere) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId worker = world.Join(1);
  world.Apply({PauseRequested{kFirst, false}});
  world.Apply({world.NextReport(worker, kFirst, 0.3, false, false)});
  EXPECT_FALSE(world.Running(worker).at(kFirst).told_to_stop);
  world.Apply({world.NextReport(worker, kFirst, 0.4)});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_stop);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPaused);
  world.Apply({world.End(worker, kFirst, Outcome::kStopped)});
  EXPECT_FALSE(world.has_ended);
  ASSERT_FALSE(world.said.empty());
  EXPECT_NE(world.said.back().find("only paused trials are left (0)"), std::string::npos);
  world.Apply({UnpauseRequested{kFirst}});
  EXPECT_EQ(world.Running(worker).at(kFirst).start.from_iteration, 2);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kRunning);
}

TEST(ControllerCommands, APauseNowEndsTheAttemptAndCountsNoFailure) {
  ControllerWorld world(ControllerWorld::MakeSpec(2));
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  world.Apply({PauseRequested{kFirst, true}});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_die);
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_at_once);
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPaused);
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kStopped);
  EXPECT_TRUE(world.Running(worker).contains(kSecond));  // Its place is another's.
}

TEST(ControllerCommands, APausedSweepGivesOutNothingUntilItIsUnpaused) {
  ControllerWorld world(ControllerWorld::MakeSpec(3));
  const WorkerId worker = world.Join(1);
  world.Apply({PauseRequested{}});
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  world.Apply({world.End(worker, kFirst, Outcome::kStopped)});
  EXPECT_TRUE(world.Running(worker).empty());
  EXPECT_FALSE(world.has_ended);
  world.Apply({UnpauseRequested{}});
  EXPECT_TRUE(world.Running(worker).contains(kFirst));
}

TEST(ControllerCommands, ARestartEndsTheSweepsPauseAndKeepsThatOfATrial) {
  ControllerWorld world(ControllerWorld::MakeSpec(2));
  const WorkerId worker = world.Join(2);
  world.Apply({PauseRequested{kFirst, true}, PauseRequested{std::nullopt, true}});
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  world.Apply({world.End(worker, kSecond, Outcome::kPreempted)});
  world.Recover();
  world.Apply({TunerRestarted{}});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPaused);
  EXPECT_EQ(world.trials.at(kSecond).status, TrialStatus::kPending);
}

TEST(ControllerCommands, ARestartEndsTheSweepsPauseAlsoForTrialsThatHadNotReachedIt) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId before = world.JoinConnected(1, "s");
  world.Apply({PauseRequested{}});
  world.Recover();
  world.Apply({TunerRestarted{true}});
  const WorkerId after = world.ComeBack(before, 1, "s");
  world.Apply({world.NextReport(after, kFirst, 0.3)});
  EXPECT_FALSE(world.Running(after).at(kFirst).told_to_stop);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kRunning);
}

TEST(ControllerCommands, APauseOfATrialThatIsStillToComeOutlivesTheSweeps) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId worker = world.Join(1);
  world.Apply({PauseRequested{kFirst, false}, PauseRequested{}, UnpauseRequested{}});
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPaused);
}

// ---- stopping

TEST(ControllerCommands, AStoppedTrialEndsAtItsNextReportByTheUser) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId worker = world.Join(1);
  world.Apply({StopRequested{kFirst, false}});
  EXPECT_FALSE(world.Running(worker).at(kFirst).told_to_die);
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kUser);
  world.Apply({world.End(worker, kFirst, Outcome::kStopped)});
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kFinished);
}

TEST(ControllerCommands, ATrialThatWaitsAndOneThatIsPausedAreStoppedAtOnce) {
  ControllerWorld world(ControllerWorld::MakeSpec(2));
  const WorkerId worker = world.Join(1);
  world.Apply({PauseRequested{kFirst, true}});
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  world.Apply({StopRequested{kFirst, false}});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kTerminated);
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kUser);
}

TEST(ControllerCommands, AStoppedSweepEndsWhenItsTrialsHaveReported) {
  ControllerWorld world(ControllerWorld::MakeSpec(10));
  const WorkerId worker = world.Join(2);
  world.Apply({StopRequested{}});
  world.Apply({world.NextReport(worker, kFirst, 0.3), world.NextReport(worker, kSecond, 0.3)});
  world.Apply({world.End(worker, kFirst, Outcome::kStopped)});
  EXPECT_FALSE(world.has_ended);
  world.Apply({world.End(worker, kSecond, Outcome::kStopped)});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kStopped);
  EXPECT_EQ(world.trials.size(), 2u);
}

TEST(ControllerCommands, ASweepStoppedNowWaitsForNoReport) {
  ControllerWorld world(ControllerWorld::MakeSpec(10));
  const WorkerId worker = world.Join(1);
  world.Apply({StopRequested{std::nullopt, true}});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_die);
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kUser);
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kStopped);
}

TEST(ControllerCommands, TheNumberOfTrialsAtATimeMayChange) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(4);
  spec.limits.max_concurrent = 1;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(4);
  EXPECT_EQ(world.Running(worker).size(), 1u);
  world.Apply({MaxConcurrentChanged{3}});
  EXPECT_EQ(world.Running(worker).size(), 3u);
}

TEST(ControllerCommands, FewerTrialsAtATimeAreReachedAlsoWhereTheyAreShort) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(200);
  spec.limits.max_concurrent = 4;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(4);
  const auto finish_one = [&] {
    const TrialNumber trial = world.Running(worker).begin()->first;
    world.now = world.now + Milliseconds(1);
    world.Apply({world.NextReport(worker, trial, 0.3, true),
                 world.End(worker, trial, Outcome::kCompleted)});
  };
  for (int i = 0; i < 20; ++i) finish_one();
  ASSERT_FALSE(world.Queue(worker).empty());
  world.Apply({MaxConcurrentChanged{2}});
  for (int i = 0; i < 60; ++i) finish_one();
  EXPECT_EQ(world.Running(worker).size(), 2u);
}

TEST(ControllerCommands, AStopThatWasAcknowledgedOutlivesTheTuner) {
  ControllerWorld world(ControllerWorld::MakeSpec(10));
  const WorkerId worker = world.Join(1);
  world.Apply({StopRequested{}});
  world.Lose(worker);
  world.Recover();
  world.Apply({TunerRestarted{}});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kStopped);
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kUser);
  EXPECT_EQ(world.trials.size(), 1u);
}

TEST(ControllerCommands, AStoppedSweepThatIsExtendedGoesOn) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId worker = world.Join(1);
  world.Apply({StopRequested{std::nullopt, true}});
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kStopped);
  world.Recover();
  world.Apply({TunerRestarted{}, SamplesExtended{2}});
  EXPECT_TRUE(world.Running(world.Join(1)).contains(kSecond));
}

TEST(ControllerCommands, ASignalEndsAStoppedSweepAtOnceAndItStaysStopped) {
  ControllerWorld world(ControllerWorld::MakeSpec(10));
  const WorkerId worker = world.Join(1);
  world.Apply({StopRequested{}});
  world.Apply({InterruptRequested{}});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_die);
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kStopped);
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kUser);
}

TEST(ControllerCommands, AStopAtTheNextReportMayBeFollowedByOneNow) {
  ControllerWorld world(ControllerWorld::MakeSpec(10));
  const WorkerId worker = world.Join(1);
  world.Apply({StopRequested{}});
  world.Apply({StopRequested{std::nullopt, true}});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_die);
}

TEST(ControllerCommands, AStopNowOfASweepThatIsBeingInterruptedStopsIt) {
  ControllerWorld world(ControllerWorld::MakeSpec(10));
  const WorkerId worker = world.Join(1);
  world.Apply({InterruptRequested{}});
  world.Apply({StopRequested{std::nullopt, true}});
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kStopped);
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kUser);
}

TEST(ControllerCommands, APauseWhileTheAttemptIsEndedIsNotLost) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId worker = world.Join(1);
  world.Apply({PauseRequested{kFirst, true}});
  world.Apply({UnpauseRequested{kFirst}});
  world.Apply({PauseRequested{kFirst, true}});
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPaused);
}

// ---- causes

TEST(ControllerCommands, ARetryWaitsAndKeepsItsPlaceMeanwhile) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(2);
  spec.failure.max_failures = 1;
  spec.failure.backoff = Seconds(10);
  spec.limits.max_concurrent = 1;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(4);
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed)});
  EXPECT_TRUE(world.Running(worker).empty());
  const auto due = world.controller().NextDeadline();
  ASSERT_TRUE(due.has_value());
  EXPECT_LE(*due, world.now + Seconds(10));
  world.now = *due;
  world.Apply({DeadlinePassed{}});
  EXPECT_TRUE(world.Running(worker).contains(kFirst));
}

TEST(ControllerCommands, ATrialThatIsTooLargeForItsShareIsTriedOnAWholeDevice) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(2);
  spec.resources.gpu_milli = 500;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(4, 1);
  world.Apply({world.End(worker, kFirst, Outcome::kDeviceOutOfMemory, "no room")});
  EXPECT_FALSE(world.Running(worker).contains(kFirst));  // The other one has half of the device.
  world.Apply({world.NextReport(worker, kSecond, 0.5, true)});
  world.Apply({world.End(worker, kSecond, Outcome::kCompleted)});
  ASSERT_TRUE(world.Running(worker).contains(kFirst));
  EXPECT_EQ(world.Running(worker).at(kFirst).slices[0].milli, 1000);
  world.Apply({world.End(worker, kFirst, Outcome::kDeviceOutOfMemory, "no room")});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kError);
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{2}}).error,
            "no room; infeasible: it ran out of device memory, and had no share of a device "
            "that could be larger");
}

TEST(ControllerCommands, ADamagedCheckpointGivesWayToTheOneBeforeFreeOfCharge) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  spec.checkpoint.keep = 2;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  world.Apply({world.NextReport(worker, kFirst, 0.4)});
  world.Apply({PauseRequested{kFirst, true}});
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  world.Apply({UnpauseRequested{kFirst}});
  EXPECT_EQ(world.Running(worker).at(kFirst).start.from_iteration, 2);
  AttemptFinished torn = std::get<AttemptFinished>(world.End(worker, kFirst, Outcome::kCrashed));
  torn.message.error = "checkpoint_2 is torn";
  torn.message.detail = EndDetail::kBadCheckpoint;
  world.Apply({torn});
  EXPECT_EQ(world.checkpoints.at({kFirst, 2}).state, CheckpointState::kCorrupt);
  EXPECT_EQ(world.Running(worker).at(kFirst).start.from_iteration, 1);
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{2}}).error,
            "checkpoint_2 is torn; going on from iteration 1");
}

TEST(ControllerCommands, AFullDiskInterruptsTheSweepAndCountsNoFailure) {
  ControllerWorld world(ControllerWorld::MakeSpec(2));
  const WorkerId worker = world.Join(1);
  AttemptFinished full = std::get<AttemptFinished>(world.End(worker, kFirst, Outcome::kCrashed));
  full.message.detail = EndDetail::kDiskFull;
  full.message.error = "no room for a checkpoint";
  world.Apply({full});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kInterrupted);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPending);
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kPreempted);
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).error, "no room for a checkpoint");
}

TEST(ControllerCommands, TrialsThatFailedGetAnotherChance) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed)});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kError);
  world.Lose(worker);
  world.Recover();
  world.Apply({TunerRestarted{}, ErroredRetried{}});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPending);
  const WorkerId next = world.Join(1);
  EXPECT_EQ(world.Running(next).at(kFirst).start.from_iteration, 1);
  world.Apply({world.End(next, kFirst, Outcome::kCrashed)});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kError);
}

// Of five trials that failed and run again a search that learns knows nothing: the next one is had
// as beside five that run for the first time.
TEST(ControllerCommands, TrialsThatGetAnotherChanceRunToTheSearchToo) {
  constexpr TrialNumber kNext{5};
  ExperimentSpec spec = ControllerWorld::MakeSpec(5);
  spec.search = Value::MakeMap();
  spec.search.Set("algorithm", Value("gp"));
  spec.search.Set("n_startup_trials", Value(0));
  const auto next_of = [&](int64_t decision_version) {
    ControllerWorld world(spec, nullptr, decision_version);
    const WorkerId worker = world.Join(1);
    for (int64_t n = 0; n < 5; ++n) {
      world.Apply({world.NextReport(worker, TrialNumber{n}, 0.3)});
      world.Apply({world.End(worker, TrialNumber{n}, Outcome::kCrashed)});
    }
    world.Lose(worker);
    world.Recover();
    world.Apply({TunerRestarted{}, SamplesExtended{6}, ErroredRetried{}});
    world.Join(6);
    return world.configurations.at(kNext);
  };
  ExperimentSpec wider = spec;
  wider.samples = 6;
  ControllerWorld fresh(wider);
  fresh.Join(6);
  EXPECT_EQ(next_of(kDecisionVersion), fresh.configurations.at(kNext));
  EXPECT_NE(next_of(15), fresh.configurations.at(kNext)) << "a sweep of an older build";
}

TEST(ControllerCommands, ATrialThatFailsAtARestartAndIsOpenedAgainKeepsItsCheckpointUnderABudget) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(2);
  spec.checkpoint.disk_budget_bytes = 150;
  spec.checkpoint.keep_best = 0;
  spec.failure.causes[Outcome::kLost].max_failures = 0;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(2);
  for (const TrialNumber trial : {kFirst, kSecond}) {
    Event report = world.NextReport(worker, trial, 0.3);
    std::get<ReportArrived>(report).message.report.checkpoint.bytes = 100;
    world.Apply({report});
  }
  world.Recover();
  world.Apply({TunerRestarted{}, ErroredRetried{}});
  EXPECT_EQ(world.removed, std::vector<std::string>());
  const WorkerId next = world.Join(2);
  EXPECT_EQ(world.Running(next).at(kFirst).start.from_iteration, 1);
  EXPECT_EQ(world.Running(next).at(kSecond).start.from_iteration, 1);
}

TEST(ControllerCommands, ASweepWhoseTimeIsUsedUpSaysSoWhenMoreIsAskedOfIt) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(2);
  spec.limits.sweep_time = Seconds(10);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed)});
  world.now = world.now + Seconds(10);
  world.Apply({world.NextReport(worker, kSecond, 0.3, true)});
  world.Apply({world.End(worker, kSecond, Outcome::kCompleted)});
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kFinished);
  world.Recover();
  world.said.clear();
  world.Apply({TunerRestarted{}, SamplesExtended{4}, ErroredRetried{}});
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kFinished);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kError);
  ASSERT_FALSE(world.said.empty());
  EXPECT_NE(world.said.front().find("limits.sweep_time was reached"), std::string::npos);
}

TEST(ControllerCommands, ATrialThatWouldNeverGoOnIsEndedByAPauseAndNotHeld) {
  for (const bool now : {true, false}) {
    ExperimentSpec spec = ControllerWorld::MakeSpec(1);
    spec.limits.sweep_time = Seconds(10);
    ControllerWorld world(spec);
    const WorkerId worker = world.Join(1);
    world.now = world.now + Seconds(10);
    world.Apply({DeadlinePassed{}});
    world.Apply({PauseRequested{kFirst, now}});
    EXPECT_EQ(world.Running(worker).at(kFirst).told_to_die, now);
    if (!now) world.Apply({world.NextReport(worker, kFirst, 0.3)});
    world.Apply({world.End(worker, kFirst, Outcome::kStopped)});
    EXPECT_EQ(world.experiment.status, ExperimentStatus::kFinished);
    EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kTerminated);
    EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kSweepLimit);
  }
}

}  // namespace
}  // namespace tune
