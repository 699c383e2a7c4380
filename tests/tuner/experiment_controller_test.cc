#include "tuner/experiment_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/random.h"
#include "tests/tuner/device_world.h"

namespace tune {
namespace {

using ::testing::Contains;
using testing::ControllerWorld;
using ::testing::HasSubstr;

Value AshaScheduler(int64_t max_t) {
  Value options = Value::MakeMap();
  options.Set("max_t", Value(max_t));
  options.Set("grace_period", Value(int64_t{1}));
  options.Set("reduction_factor", Value(int64_t{2}));
  Value scheduler = Value::MakeMap();
  scheduler.Set("asha", options);
  return scheduler;
}

const TrialNumber kFirst{0};
const TrialNumber kSecond{1};

TEST(ExperimentController, GivesOutNoMoreThanTheWorkerHasRoomFor) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(2);
  EXPECT_EQ(world.Running(worker).size(), 2u);
  EXPECT_EQ(world.trials.size(), 2u);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kRunning);
}

TEST(ExperimentController, MaxConcurrentBoundsWhatRuns) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.limits.max_concurrent = 1;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(8);
  EXPECT_EQ(world.Running(worker).size(), 1u);
}

TEST(ExperimentController, HalvesOfADeviceNeverAddUpToMoreThanOne) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.resources.gpu_milli = 500;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(16, 1);
  EXPECT_EQ(world.Running(worker).size(), 2u);  // The world checks the shares themselves.
}

TEST(ExperimentController, AFinalReportCompletesTheTrial) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5, true)});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kTerminated);
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kCompleted);
  world.Apply({world.End(worker, kFirst, Outcome::kCompleted)});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kCompleted);
  EXPECT_TRUE(world.Running(worker).contains(kSecond));
}

// All trials of a space of three configurations, one after the other.
std::vector<std::string> SaidOverThreeConfigurations(int64_t samples, const Value& search) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  Value domain = Value::MakeMap();
  domain.Set("choice", Value(Value::List{Value(1), Value(2), Value(3)}));
  spec.space.Set("x", domain);
  spec.samples = samples;
  spec.search = search;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  for (int64_t n = 0; n < 3; ++n) {
    world.Apply({world.NextReport(worker, TrialNumber{n}, 0.5, true)});
    world.Apply({world.End(worker, TrialNumber{n}, Outcome::kCompleted)});
  }
  EXPECT_EQ(world.trials.size(), 3u);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kFinished);
  return world.said;
}

TEST(ExperimentController, ASpaceThatIsExhaustedEarlyEndsTheSweepAndIsTold) {
  const auto search = [](const char* algorithm, bool is_unique) {
    Value value = Value::MakeMap();
    value.Set("algorithm", algorithm);
    if (is_unique) value.Set("unique", true);
    return value;
  };
  const auto is_told = ::testing::ElementsAre(::testing::HasSubstr("exhausted after 3 trials"));
  EXPECT_THAT(SaidOverThreeConfigurations(5, search("grid", false)), is_told);
  EXPECT_THAT(SaidOverThreeConfigurations(5, search("random", true)), is_told);
  EXPECT_THAT(SaidOverThreeConfigurations(5, search("tpe", false)), is_told);
  // Who asked for no more misses nothing.
  EXPECT_THAT(SaidOverThreeConfigurations(3, search("random", true)), ::testing::IsEmpty());
  EXPECT_THAT(SaidOverThreeConfigurations(-1, search("grid", false)), ::testing::IsEmpty());
}

// It lies at an end of both domains, where the check at the start looks and no draw comes.
TEST(ExperimentController, ConstraintsThatLeaveNothingToFindAreToldAsTheCause) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.space = *ParseJson(R"({"a": {"uniform": [0, 1]}, "b": {"uniform": [0, 1]}})");
  spec.constraints = *ParseJson(R"(["a + b < 1e-9"])");
  ControllerWorld world(spec);
  world.Join(1);
  EXPECT_TRUE(world.trials.empty());
  EXPECT_THAT(world.said,
              ::testing::ElementsAre(HasSubstr(
                  "after 0 trials the search found no further configuration that satisfies")));
}

TEST(ExperimentController, TheBestValueIsTheEarliestOfEquals) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  world.Apply({world.NextReport(worker, kFirst, 0.4)});
  EXPECT_EQ(world.trials.at(kFirst).best_iteration, 1);
  EXPECT_EQ(world.trials.at(kFirst).best_value, 0.5);
  EXPECT_EQ(world.trials.at(kFirst).last_value, 0.4);
}

TEST(ExperimentController, AStopConditionComesBeforeTheScheduler) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.scheduler = AshaScheduler(1);
  spec.stop.push_back(StopCondition{"value", 0.9, true});
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(2);
  world.Apply({world.NextReport(worker, kFirst, 0.95), world.NextReport(worker, kSecond, 0.1)});
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kStopCondition);
  EXPECT_EQ(world.trials.at(kSecond).stop_reason, StopReason::kMaxT);
}

TEST(ExperimentController, TheSchedulerStopsThePoorOneAndItsDecisionIsARow) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.scheduler = AshaScheduler(16);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(2);
  world.Apply({world.NextReport(worker, kFirst, 0.9)});
  world.Apply({world.NextReport(worker, kSecond, 0.2)});
  EXPECT_EQ(world.trials.at(kSecond).stop_reason, StopReason::kScheduler);
  ASSERT_TRUE(world.reports.back().decision.has_value());
  EXPECT_EQ(world.reports.back().decision->verdict, Verdict::kStop);
  EXPECT_EQ(world.reports.back().decision->rung, 1);
  EXPECT_TRUE(world.Running(worker).at(kSecond).told_to_stop);
}

TEST(ExperimentController, ACrashedTrialGoesOnFromItsCheckpointUpToMaxFailures) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.failure.max_failures = 1;
  spec.samples = 1;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  world.Apply({world.NextReport(worker, kFirst, 0.4)});
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed, "exit status 1")});
  const StartAttempt& retry = world.Running(worker).at(kFirst).start;
  EXPECT_EQ(retry.ref.attempt, AttemptNumber{2});
  EXPECT_EQ(retry.from_iteration, 2);
  EXPECT_EQ(retry.checkpoint_path, "/artifacts/sweep/0/checkpoint_2");
  world.Apply({world.End(worker, kFirst, Outcome::kKilled, "signal 9")});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kError);
  EXPECT_EQ(world.trials.at(kFirst).attempts, 2);
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kFinished);
}

TEST(ExperimentController, AnIterationReportedAgainIsStoredAndDecidesNothing) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.failure.max_failures = 3;
  spec.samples = 1;
  spec.scheduler = AshaScheduler(16);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.3, false, false)});
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed)});
  world.Apply({world.NextReport(worker, kFirst, 0.8)});
  ASSERT_EQ(world.reports.size(), 2u);
  EXPECT_EQ(world.reports[1].attempt, AttemptNumber{2});
  EXPECT_FALSE(world.reports[1].decision.has_value());
  EXPECT_EQ(world.trials.at(kFirst).best_value, 0.3);
}

TEST(ExperimentController, ABadConfigurationIsNotRetried) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.failure.max_failures = 5;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.End(worker, kFirst, Outcome::kBadConfig, "batch_size must be positive")});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kError);
  EXPECT_EQ(world.trials.at(kFirst).attempts, 1);
}

ExperimentSpec SpecOfSixteen() {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 16;
  return spec;
}

TEST(ExperimentController, ASweepInWhichEveryTrialIsRefusedAlikeEndsAfterThree) {
  ControllerWorld world(SpecOfSixteen());
  const WorkerId worker = world.Join(1);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(world.said.empty());
    world.Apply({world.End(worker, TrialNumber{i}, Outcome::kBadConfig,
                           "lr " + std::to_string(i) + " is no module")});
  }
  ASSERT_EQ(world.said.size(), 1u);
  EXPECT_NE(world.said[0].find("all 3 trials so far failed alike"), std::string::npos);
  for (const auto& [number, trial] : world.trials) {
    const bool is_over = trial.status != TrialStatus::kPending;
    EXPECT_TRUE(is_over || number.value > 2);
  }
}

TEST(ExperimentController, ASweepWhoseLimitOfAlikeFailuresIsZeroGoesOnThroughThem) {
  ExperimentSpec spec = SpecOfSixteen();
  spec.limits.failed_alike = 0;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_FALSE(world.has_ended);
    world.Apply({world.End(worker, TrialNumber{i}, Outcome::kBadConfig, "penalty is no l1")});
  }
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.trials.size(), 16u);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kFinished);
}

// Nothing was mended: a sweep that is killed in between comes to the same end.
TEST(ExperimentController, FailuresThatAreAlikeCountOverTheDeathOfATuner) {
  ControllerWorld world(SpecOfSixteen());
  WorkerId worker = world.Join(1);
  for (int64_t i = 0; i < 2; ++i) {
    world.Apply({world.End(worker, TrialNumber{i}, Outcome::kBadConfig, "lr 1 is no module")});
  }
  world.Apply({TunerRestarted{}});
  worker = world.Join(1);
  world.Apply({world.End(worker, TrialNumber{2}, Outcome::kBadConfig, "lr 1 is no module")});
  EXPECT_THAT(world.said, Contains(HasSubstr("all 3 trials so far failed alike")));
}

// As a program does that names its metric otherwise than the space file.
TEST(ExperimentController, WhatElseIsReportedDoesNotKeepASweepThatIsRefusedAlikeGoing) {
  ControllerWorld world(SpecOfSixteen());
  const WorkerId worker = world.Join(1);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(world.said.empty());
    Event event = world.NextReport(worker, TrialNumber{i}, 0.5);
    std::get<ReportArrived>(event).message.report.metrics = {{"vaule", 0.5}};
    world.Apply({event});
    world.Apply({world.End(worker, TrialNumber{i}, Outcome::kBadConfig, "no_metric")});
  }
  EXPECT_THAT(
      world.said,
      Contains(HasSubstr("all 3 trials so far failed alike, before any report of value; ")));
}

// A NaN is a report of the metric.
TEST(ExperimentController, AReportOfNoNumberIsOneOfTheMetric) {
  ControllerWorld world(SpecOfSixteen());
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, std::nan(""))});
  for (int64_t i = 0; i < 12; ++i) {
    world.Apply({world.End(worker, TrialNumber{i}, Outcome::kBadConfig, "it is no module")});
  }
  EXPECT_TRUE(world.said.empty());
}

TEST(ExperimentController, ASweepThatHasReportedGoesOnWhateverFails) {
  ControllerWorld world(SpecOfSixteen());
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  for (int64_t i = 0; i < 12; ++i) {
    world.Apply({world.End(worker, TrialNumber{i}, Outcome::kBadConfig, "it is no module")});
  }
  EXPECT_TRUE(world.said.empty());
}

TEST(ExperimentController, AReportUnderADeadLeaseIsRefusedAndChangesNothing) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.failure.max_failures = 3;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  const Event late = world.NextReport(worker, kFirst, 0.99);
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed)});
  world.Apply({late});
  EXPECT_TRUE(world.reports.empty());
  const AttemptRef dead = std::get<ReportArrived>(late).message.ref;
  EXPECT_EQ(world.answers.at({dead, 1}), ReportAnswer::kRefused);
}

TEST(ExperimentController, AMessageThatComesTwiceIsAnsweredAlikeAndCountedOnce) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(1);
  const Event report = world.NextReport(worker, kFirst, 0.5);
  world.Apply({report});
  world.answers.clear();
  world.Apply({report});
  EXPECT_EQ(world.reports.size(), 1u);
  const AttemptRef ref = std::get<ReportArrived>(report).message.ref;
  EXPECT_EQ(world.answers.at({ref, 1}), ReportAnswer::kContinue);
  EXPECT_FALSE(world.Running(worker).at(kFirst).told_to_die);
}

TEST(ExperimentController, AReportAfterAStopIsRefusedAndNotCounted) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.scheduler = AshaScheduler(1);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  const Event late = world.NextReport(worker, kFirst, 0.9);
  world.Apply({late});
  EXPECT_EQ(world.reports.size(), 1u);
  EXPECT_EQ(world.trials.at(kFirst).iterations, 1);
  const AttemptRef ref = std::get<ReportArrived>(late).message.ref;
  EXPECT_EQ(world.answers.at({ref, 2}), ReportAnswer::kRefused);
}

TEST(ExperimentController, ATrialThatEndsWithoutAReportIsAnError) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(1);
  world.Apply({world.End(worker, kFirst, Outcome::kCompleted)});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kError);
}

TEST(ExperimentController, IterationsAndTimeAreStopConditionsToo) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.stop = {{"training_iteration", 3, true}, {"time_total", 5, true}};
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kRunning);
    world.Apply({world.NextReport(worker, kFirst, 0.5)});
  }
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kStopCondition);
  world.Apply({world.End(worker, kFirst, Outcome::kStopped)});
  // Four seconds in the first attempt and one in the second.
  world.now = world.now + Seconds(4);
  world.Apply({world.NextReport(worker, kSecond, 0.5)});
  world.Lose(worker);
  world.Apply({WorkerGone{worker, Departure::kBroken}});
  EXPECT_EQ(world.trials.at(kSecond).run_seconds, 4);
  const WorkerId other = world.Join(1);
  world.now = world.now + Seconds(1);
  world.Apply({world.NextReport(other, kSecond, 0.5)});
  EXPECT_EQ(world.trials.at(kSecond).stop_reason, StopReason::kStopCondition);
}

TEST(ExperimentController, TrialTimeEndsATrialThatSaysNothing) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.limits.trial_time = Seconds(5);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  ASSERT_EQ(world.controller().NextDeadline(), world.now + Seconds(5));
  world.now = world.now + Seconds(5);
  world.Apply({DeadlinePassed{}});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_die);
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kStopCondition);
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kStopped);
}

TEST(ExperimentController, TooManyFailedTrialsStopTheSweep) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.limits.failed_trials = 2;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.now = world.now + Seconds(1);
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed)});
  EXPECT_FALSE(world.has_ended);
  world.Apply({world.End(worker, kSecond, Outcome::kCrashed)});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kStopped);
  EXPECT_EQ(world.trials.size(), 2u);
}

TEST(ExperimentController, AFinishedSweepIsExtendedToTheNewTotal) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 1;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5, true)});
  world.Apply({world.End(worker, kFirst, Outcome::kCompleted)});
  ASSERT_TRUE(std::exchange(world.has_ended, false));
  world.Recover();
  world.Apply({TunerRestarted{}, SamplesExtended{2}});
  EXPECT_EQ(world.experiment.samples, 2);
  EXPECT_FALSE(world.has_ended);
  const WorkerId next = world.Join(1);
  world.Apply({world.NextReport(next, kSecond, 0.5, true)});
  world.Apply({world.End(next, kSecond, Outcome::kCompleted)});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.trials.size(), 2u);
  EXPECT_TRUE(world.shut_down.contains(next));
}

TEST(ExperimentController, RestoredSuggestionsAreTakenInPlaceOfNewOnes) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  Configuration remembered;
  remembered.Set("x", Value(0.125));
  world.controller().RestoreSuggestions({{kFirst, remembered}});
  world.Join(1);
  EXPECT_EQ(ToJson(world.configurations.at(kFirst).ToFlat()), R"([["x",0.125]])");
}

TEST(ExperimentController, AWorkerIsToldWhatItsTrialsNeed) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.checkpoint.every = 3;
  spec.base_dir = "/home/me";
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  const std::vector<SweepInfo>& sweeps = world.welcomes.at(worker).sweeps;
  ASSERT_EQ(sweeps.size(), 1u);
  EXPECT_EQ(sweeps[0].seed, 7u);
  EXPECT_EQ(sweeps[0].metric, "value");
  EXPECT_EQ(sweeps[0].trainable, "\"curve\"");
  EXPECT_EQ(sweeps[0].base_dir, "/home/me");
  const StartAttempt& start = world.Running(worker).at(kFirst).start;
  EXPECT_EQ(start.checkpoint_every, 3);
  EXPECT_EQ(start.artifact_dir, "/artifacts/sweep/0");
}

// What trials name by themselves, and under a condition, a machine need not have.
TEST(ExperimentController, AWorkerIsToldWhichFilesAreNotTheSameForAllTrials) {
  const auto told = [](const char* space) {
    ExperimentSpec spec = ControllerWorld::MakeSpec();
    spec.space = *ParseJson(space);
    ControllerWorld world(spec);
    const WorkerId worker = world.Join(1);
    return world.welcomes.at(worker).sweeps.at(0).own_paths;
  };
  EXPECT_THAT(told(R"({"data": "/data", "weights": {"choice": ["a", "b"]}})"),
              ::testing::ElementsAre("weights"));
  EXPECT_THAT(told(R"({"data": "/data", "weights": "a", "lr": {"uniform": [0, 1]}})"),
              ::testing::IsEmpty());
  EXPECT_THAT(told(R"({"weights": {"constant": "a", "when": {"kind": "b"}},
                       "kind": {"choice": ["b", "c"]}})"),
              ::testing::ElementsAre("weights"));
}

TEST(ExperimentController, AFallingIterationEndsTheAttempt) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  world.Running(worker).at(kFirst).iteration = 0;
  world.Apply({world.NextReport(worker, kFirst, 0.6)});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_die);
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  const AttemptRow& attempt = world.attempts.at({kFirst, AttemptNumber{1}});
  EXPECT_EQ(attempt.outcome, Outcome::kCrashed);
  EXPECT_NE(attempt.error.find("iterations must rise"), std::string::npos);
}

TEST(ExperimentController, AnInterruptEndsWhatRunsAndLeavesTheSweepResumable) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(2);
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  world.Apply({InterruptRequested{}});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_die);
  EXPECT_FALSE(world.has_ended);
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted),
               world.End(worker, kSecond, Outcome::kPreempted)});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kInterrupted);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPending);

  world.Recover();
  world.Apply({TunerRestarted{}});
  const WorkerId next = world.Join(1);
  // The interrupted one with the lowest number goes first, from its checkpoint.
  ASSERT_TRUE(world.Running(next).contains(kFirst));
  EXPECT_EQ(world.Running(next).at(kFirst).start.from_iteration, 1);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kRunning);
}

TEST(ExperimentController, WhatIsReportedBetweenAnInterruptAndTheEndIsWhereTheTrialGoesOn) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5, false, false)});
  world.Apply({InterruptRequested{}});
  EXPECT_FALSE(world.Running(worker).at(kFirst).told_at_once);
  const AttemptRef ref = world.Running(worker).at(kFirst).start.ref;
  world.Apply({world.NextReport(worker, kFirst, 0.4)});
  EXPECT_EQ(world.answers.at({ref, 2}), ReportAnswer::kContinue);
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kInterrupted);

  world.Recover();
  world.Apply({TunerRestarted{}});
  EXPECT_EQ(world.Running(world.Join(1)).at(kFirst).start.from_iteration, 2);
}

TEST(ExperimentController, ASecondThoughtAboutAnInterruptedSweepWaitsForNoReport) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(1);
  world.Apply({InterruptRequested{}});
  world.Apply({StopRequested{std::nullopt, true}});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_at_once);
}

TEST(ExperimentController, ALostWorkersTrialsGoOnElsewhereFreeOfCharge) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 1;
  ControllerWorld world(spec);
  const WorkerId first = world.Join(1);
  const WorkerId second = world.Join(1);
  world.Apply({world.NextReport(first, kFirst, 0.5)});
  world.Lose(first);
  world.Apply({WorkerGone{first, Departure::kBroken}});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kLost);
  EXPECT_EQ(world.Running(second).at(kFirst).start.from_iteration, 1);
}

TEST(ExperimentController, AWorkerThatSaidGoodbyeHasLeftAndIsNotLost) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  world.Join(1);
  const WorkerId second = world.Join(1);
  world.Apply(
      {world.End(second, kSecond, Outcome::kPreempted), WorkerGone{second, Departure::kGoodbye}});
  world.Apply({WorkerGone{second, Departure::kBroken}});  // Its connection ends.
  EXPECT_EQ(world.worker_rows.at(second).state, WorkerState::kLeft);
}

TEST(ExperimentController, AWorkerThatLeavesIsToldWithItsReason) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  world.Join(1);
  const WorkerId second = world.Join(1);
  world.Apply({WorkerGone{second, Departure::kGoodbye, "no room for the working_dir"}});
  EXPECT_THAT(world.said, Contains(HasSubstr("left: no room for the working_dir")));
  const AttemptRow& attempt = world.attempts.at({kSecond, AttemptNumber{1}});
  EXPECT_THAT(attempt.error, HasSubstr("left: no room for the working_dir"));
}

TEST(ExperimentController, AWorkerThatGivesBackAnAttemptGetsNoOther) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 2;
  ControllerWorld world(spec);
  const WorkerId leaving = world.Join(2);
  world.Apply({world.End(leaving, kSecond, Outcome::kPreempted)});  // The other one still ends.
  EXPECT_FALSE(world.Running(leaving).contains(kSecond));
  EXPECT_EQ(world.worker_rows.at(leaving).state, WorkerState::kDraining);
  const WorkerId other = world.Join(1);
  EXPECT_TRUE(world.Running(other).contains(kSecond));
  EXPECT_EQ(world.trials.at(kSecond).attempts, 2);
}

TEST(ExperimentController, AWorkerWhoseAttemptTheTunerKilledGetsOthers) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.limits.no_progress = Seconds(5);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.now = world.now + Seconds(5);
  world.Apply({DeadlinePassed{}});
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.worker_rows.at(worker).state, WorkerState::kAlive);
  EXPECT_TRUE(world.Running(worker).contains(kSecond));
}

TEST(ExperimentController, AtTheEndOfTheSweepItsWorkersHaveLeft) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 1;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5, true)});
  EXPECT_EQ(world.worker_rows.at(worker).state, WorkerState::kAlive);
  world.Apply({world.End(worker, kFirst, Outcome::kCompleted)});
  ASSERT_TRUE(world.has_ended);
  EXPECT_EQ(world.worker_rows.at(worker).state, WorkerState::kLeft);
  EXPECT_TRUE(world.said.empty());  // That they leave is no news then.
  world.Apply({TunerRestarted{}});
  EXPECT_EQ(world.worker_rows.at(worker).state, WorkerState::kLeft);
}

TEST(ExperimentController, SweepTimeEndsTrialsAtTheirNextReport) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.limits.sweep_time = Seconds(10);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  ASSERT_TRUE(world.controller().NextDeadline().has_value());
  world.now = *world.controller().NextDeadline();
  world.Apply({DeadlinePassed{}});
  EXPECT_FALSE(world.has_ended);
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kSweepLimit);
  world.Apply({world.End(worker, kFirst, Outcome::kStopped)});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.trials.size(), 1u);
}

TEST(ExperimentController, SweepTimeEndsWhatWaitsInAWorkersQueueToo) {
  for (const bool is_worker_lost : {false, true}) {
    ExperimentSpec spec = ControllerWorld::MakeSpec();
    spec.samples = 40;
    spec.limits.sweep_time = Seconds(10);
    ControllerWorld world(spec);
    const WorkerId worker = world.Join(1);
    world.Apply({world.NextReport(worker, kFirst, 0.1, true),
                 world.End(worker, kFirst, Outcome::kCompleted)});
    ASSERT_FALSE(world.Queue(worker).empty());
    world.now = world.now + Seconds(10);
    world.Apply({DeadlinePassed{}});
    if (is_worker_lost) {
      world.Lose(worker);
      world.Apply({WorkerGone{worker, Departure::kBroken}});
    } else {
      world.Apply(std::exchange(world.pending_ends, {}));
      world.Apply({world.NextReport(worker, kSecond, 0.5)});
      world.Apply({world.End(worker, kSecond, Outcome::kStopped)});
    }
    ASSERT_TRUE(world.has_ended);
    for (const auto& [number, row] : world.trials) {
      EXPECT_EQ(row.status, TrialStatus::kTerminated) << number.value;
    }
    EXPECT_EQ(world.trials.at(TrialNumber{2}).stop_reason, StopReason::kSweepLimit);
  }
}

TEST(ExperimentController, SweepTimeIsWhatAllLivesUsedTogether) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.limits.sweep_time = Seconds(10);
  ControllerWorld world(spec);
  world.Apply({TunerRestarted{}});  // The first life ended before its first commit.
  EXPECT_EQ(world.controller().sweep_deadline(), world.now + Seconds(10));
  world.now = world.now + Seconds(4);
  world.Apply({DeadlinePassed{}});
  world.now = world.now + Seconds(1000);  // Nobody was there.
  world.Apply({TunerRestarted{}});
  EXPECT_EQ(world.controller().sweep_deadline(), world.now + Seconds(6));
}

TEST(ExperimentController, ASilentTrialIsKilledAndRetried) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.limits.no_progress = Seconds(5);
  spec.failure.max_failures = 1;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.now = world.now + Seconds(3);
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  world.now = world.now + Seconds(3);
  world.Apply({DeadlinePassed{}});
  ASSERT_FALSE(world.Running(worker).at(kFirst).told_to_die);
  world.now = world.now + Seconds(2);
  world.Apply({DeadlinePassed{}});
  ASSERT_TRUE(world.Running(worker).at(kFirst).told_to_die);
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kHung);
  EXPECT_EQ(world.Running(worker).at(kFirst).start.ref.attempt, AttemptNumber{2});
  // What the first attempt ended with is not the second one's.
  world.Apply({world.NextReport(worker, kFirst, 0.5, true)});
  world.Apply({world.End(worker, kFirst, Outcome::kCompleted)});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{2}}).outcome, Outcome::kCompleted);
}

TEST(ExperimentController, WhatNoWorkerCanTakeIsSaidAndEndsTheSweepInTime) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.resources.gpu_milli = 2000;
  spec.limits.unplaceable = Seconds(60);
  ControllerWorld world(spec);
  world.Join(4, 1);
  ASSERT_EQ(world.said.size(), 1u);
  EXPECT_NE(world.said[0].find("gpu: 2"), std::string::npos);
  EXPECT_NE(world.said[0].find("4 CPUs, 1 GPU"), std::string::npos);
  world.now = *world.controller().NextDeadline();
  world.Apply({DeadlinePassed{}});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kInterrupted);
}

TEST(ExperimentController, AWorkerTooSmallForATrialIsSaidHoweverLateItComes) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.resources.cpu_milli = 8000;
  ControllerWorld world(spec);
  world.Apply({DeadlinePassed{}});
  EXPECT_TRUE(world.said.empty());  // Nobody could have come yet.
  world.now = world.now + Seconds(5);
  world.Join(4);
  ASSERT_EQ(world.said.size(), 1u);
  EXPECT_NE(world.said[0].find("cpu: 8; the workers have 4 CPUs"), std::string::npos);
  world.Apply({DeadlinePassed{}});
  EXPECT_EQ(world.said.size(), 1u);
  world.Join(2);
  EXPECT_EQ(world.said.size(), 2u);
}

TEST(ExperimentController, AWorkersEndIsSaidAndThatItWasTheLast) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId first = world.Join(1);
  const WorkerId second = world.Join(1);
  world.Lose(first);
  world.Apply({WorkerGone{first, Departure::kBroken}});
  ASSERT_EQ(world.said.size(), 1u);
  EXPECT_EQ(world.said[0], "worker w1 is lost: its connection broke");
  world.Lose(second);
  world.Apply({WorkerGone{second, Departure::kGoodbye}});
  ASSERT_EQ(world.said.size(), 2u);
  EXPECT_NE(world.said[1].find("worker w2 left; there is no other, waiting"), std::string::npos);
  world.Apply({TunerRestarted{}});
  EXPECT_EQ(world.said.size(), 2u);
}

TEST(ExperimentController, ShortTrialsGetLeasesAheadAndTheQueueTakesOverAtOnce) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 40;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.1, true),
               world.End(worker, kFirst, Outcome::kCompleted)});
  // The first one took no time at all: as many as the limit are ahead.
  EXPECT_EQ(world.Queue(worker).size(), static_cast<size_t>(limits::kAheadPerSlotMax));
  EXPECT_EQ(world.trials.at(TrialNumber{2}).status, TrialStatus::kPending);
  world.Apply({world.NextReport(worker, kSecond, 0.1, true),
               world.End(worker, kSecond, Outcome::kCompleted)});
  EXPECT_EQ(world.trials.at(TrialNumber{2}).status, TrialStatus::kRunning);
}

TEST(ExperimentController, LongTrialsGetNoLeasesAhead) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(1);
  world.now = world.now + Seconds(1);
  world.Apply({world.NextReport(worker, kFirst, 0.1, true),
               world.End(worker, kFirst, Outcome::kCompleted)});
  EXPECT_TRUE(world.Queue(worker).empty());
}

TEST(ExperimentController, OnlyTheLatestAndTheBestCheckpointStay) {
  ControllerWorld world(ControllerWorld::MakeSpec());
  const WorkerId worker = world.Join(1);
  for (const double value : {0.2, 0.9, 0.3, 0.4}) {
    world.Apply({world.NextReport(worker, kFirst, value)});
  }
  EXPECT_EQ(world.checkpoints.at({kFirst, 1}).state, CheckpointState::kRemoved);
  EXPECT_EQ(world.checkpoints.at({kFirst, 2}).state, CheckpointState::kDurable);  // The best.
  EXPECT_EQ(world.checkpoints.at({kFirst, 3}).state, CheckpointState::kRemoved);
  EXPECT_EQ(world.checkpoints.at({kFirst, 4}).state, CheckpointState::kDurable);  // The latest.
  EXPECT_EQ(world.removed, (std::vector<std::string>{"/artifacts/sweep/0/checkpoint_1",
                                                     "/artifacts/sweep/0/checkpoint_3"}));
  // Another trial's best takes the place of this one's.
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed)});
  world.Apply({world.NextReport(worker, kSecond, 0.95)});
  EXPECT_EQ(world.removed.back(), "/artifacts/sweep/0/checkpoint_2");
}

TEST(ExperimentController, AReplayDecidesTheSameWhereTheDatabaseWasMoved) {
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 1;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  world.Apply({world.NextReport(worker, kFirst, 0.6)});
  auto moved = ControllerWorld::MakeController(spec, "/elsewhere/sweep");
  for (const auto& step : world.log()) moved->Apply(step.events, step.now);
  ASSERT_EQ(moved->trials().size(), 1u);
  EXPECT_EQ(moved->trials()[0].row.iterations, 2);
  EXPECT_FALSE(moved->trials()[0].verdict.has_value());

  // And the trial goes on from where its checkpoint is now.
  moved->Apply({TunerRestarted{}}, world.now);
  const Transition t =
      moved->Apply({WorkerJoined{WorkerId{9}, "w9", "local", 1, {kWholeMilli, {}}}}, world.now);
  std::string from;
  for (const Action& action : t.actions) {
    const auto* const send = std::get_if<SendToWorker>(&action);
    if (send == nullptr) continue;
    if (const auto* start = std::get_if<StartAttempt>(&send->message)) {
      from = start->checkpoint_path;
    }
  }
  EXPECT_EQ(from, "/elsewhere/sweep/0/checkpoint_2");
}

TEST(ExperimentController, ACheckpointOutsideOfTheTrialsFolderEndsTheAttempt) {
  for (const std::string path : {"/etc/checkpoint_1", "/artifacts/sweep/1/checkpoint_1",
                                 "/artifacts/sweep/0/../checkpoint_1", "/artifacts/sweep/0/"}) {
    ControllerWorld world(ControllerWorld::MakeSpec());
    const WorkerId worker = world.Join(1);
    Event report = world.NextReport(worker, kFirst, 0.5);
    std::get<ReportArrived>(report).message.report.checkpoint.path = path;
    world.Apply({report});
    EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_die) << path;
    EXPECT_TRUE(world.reports.empty()) << path;
  }
}

// One random life: reports, crashes, lost and joining workers, restarts. At the end every trial is
// over, and replaying the log into a fresh controller, with the suggestions restored, gives the
// same rows.
void LiveAndReplay(uint64_t seed) {
  KeyedRandom random(seed, "controller_test");
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.samples = 5 + static_cast<int64_t>(random.NextBelow(40));
  spec.failure.max_failures = static_cast<int64_t>(random.NextBelow(3));
  spec.resources.gpu_milli = random.NextBelow(2) == 0 ? 0 : 300;
  if (random.NextBelow(2) == 0) spec.scheduler = AshaScheduler(8);
  if (random.NextBelow(3) == 0)
    spec.limits.max_concurrent = 1 + static_cast<int64_t>(random.NextBelow(3));
  ControllerWorld world(spec);
  // In every other life devices have memory, of which trials are seen to use some, and fall away.
  const bool has_cards = random.NextBelow(2) == 0;
  const auto join = [&](int64_t cpus) {
    return has_cards ? JoinWithDevices(world, cpus, {80'000, 24'000}) : world.Join(cpus, 1);
  };
  std::vector<WorkerId> workers = {join(2)};
  for (int step = 0; step < 20'000 && !world.has_ended; ++step) {
    world.now = world.now + Duration{static_cast<int64_t>(random.NextBelow(3000))};
    const uint64_t dice = random.NextBelow(1000);
    std::vector<Event> events = std::exchange(world.pending_ends, {});
    if (dice < 3 && workers.size() < 4) {
      workers.push_back(join(1 + static_cast<int64_t>(random.NextBelow(4))));
    } else if (dice < 5 && workers.size() > 1) {
      world.Lose(workers.back());
      events.push_back(WorkerGone{
          workers.back(), random.NextBelow(2) == 0 ? Departure::kGoodbye : Departure::kBroken});
      workers.pop_back();
    } else if (dice < 7) {
      for (const WorkerId worker : workers) world.Lose(worker);
      workers.clear();
      world.pending_ends.clear();
      world.Recover();
      world.Apply({TunerRestarted{}});
      workers.push_back(join(2));
      continue;
    } else if (dice < 10 && has_cards) {
      const auto device = static_cast<int64_t>(random.NextBelow(2));
      for (Event& event : LoseDevice(world, workers.back(), device)) events.push_back(event);
      workers.push_back(join(2));
    }
    for (const WorkerId worker : workers) {
      std::vector<TrialNumber> running;
      for (const auto& [trial, attempt] : world.Running(worker)) running.push_back(trial);
      for (const TrialNumber trial : running) {
        auto& attempt = world.Running(worker).at(trial);
        if (attempt.told_to_stop || attempt.told_to_die) {
          events.push_back(world.End(
              worker, trial, attempt.told_to_stop ? Outcome::kStopped : Outcome::kPreempted));
        } else if (random.NextBelow(60) == 0) {
          events.push_back(world.End(worker, trial, Outcome::kCrashed, "exit status 1"));
        } else if (has_cards && random.NextBelow(20) == 0) {
          const auto bytes = static_cast<int64_t>(random.NextBelow(40'000));
          events.push_back(DeviceMemorySeen{worker, {attempt.start.ref, bytes}});
        } else if (random.NextBelow(2) == 0) {
          const double value = random.NextBelow(30) == 0 ? std::nan("") : random.NextDouble();
          events.push_back(world.NextReport(worker, trial, value, attempt.iteration >= 9,
                                            random.NextBelow(2) == 0));
          // A report is answered before the attempt goes on.
          break;
        }
      }
    }
    if (!events.empty()) world.Apply(std::move(events));
    for (const WorkerId worker : workers) CheckDeviceMemory(world, worker);
  }
  ASSERT_TRUE(world.has_ended) << "seed " << seed;
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kFinished);
  EXPECT_EQ(static_cast<int64_t>(world.trials.size()), spec.samples);

  auto fresh = ControllerWorld::MakeController(spec);
  std::vector<std::pair<TrialNumber, Configuration>> suggestions(world.configurations.begin(),
                                                                 world.configurations.end());
  fresh->RestoreSuggestions(suggestions);
  std::vector<ReportRow> reports;
  for (const auto& step : world.log()) {
    Transition t = fresh->Apply(step.events, step.now);
    reports.insert(reports.end(), t.reports.begin(), t.reports.end());
  }
  ASSERT_EQ(reports.size(), world.reports.size());
  for (size_t i = 0; i < reports.size(); ++i) {
    ASSERT_EQ(reports[i].trial, world.reports[i].trial);
    ASSERT_EQ(reports[i].decision, world.reports[i].decision);
  }
  for (const TrialRecord& record : fresh->trials()) {
    const TrialRow& live = world.trials.at(record.row.number);
    EXPECT_TRUE(record.is_over());
    EXPECT_EQ(record.row.status, live.status);
    EXPECT_EQ(record.row.stop_reason, live.stop_reason);
    EXPECT_EQ(record.row.iterations, live.iterations);
    EXPECT_EQ(record.row.attempts, live.attempts);
    EXPECT_EQ(record.row.best_value, live.best_value);
  }
}

TEST(ExperimentController, ReplayEqualsLiveOverRandomLives) {
  for (uint64_t seed = 1; seed <= 300; ++seed) LiveAndReplay(seed);
}

}  // namespace
}  // namespace tune
