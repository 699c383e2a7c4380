// What a tuner makes of each command: refused in words, or an event that does what the words say.
#include "tuner/control/control_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tuner/controller_world.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using testing::ControllerWorld;

ControlRequest Ask(ControlVerb verb, std::optional<int64_t> trial = {}, bool now = false) {
  ControlRequest request;
  request.tuner = 1;
  request.sweep = "sweep";
  request.verb = verb;
  if (trial) request.trial = TrialNumber{*trial};
  request.now = now;
  request.settings = {"limits.max_concurrent=1"};
  return request;
}

constexpr ControlVerb kPause = ControlVerb::kPause;
constexpr ControlVerb kUnpause = ControlVerb::kUnpause;
constexpr ControlVerb kStop = ControlVerb::kStop;
constexpr ControlVerb kSet = ControlVerb::kSet;

// A sweep of four trials, of which two run.
class ControlPlanTest : public ::testing::Test {
 protected:
  ControlPlanTest() : world_(SpecWithDocument()), worker_(world_.Join(2)) {}

  // As a space file says it.
  static ExperimentSpec SpecWithDocument() {
    const Result<ExperimentSpec> spec = InterpretStoredSpec(
        R"({"name": "sweep", "metric": "value", "mode": "max", "samples": 4,
            "trainable": {"curve": {"value": "x"}}, "space": {"x": {"uniform": [0, 1]}},
            "failure": {"backoff": 0}})",
        "sweep", "/spaces", /*require_trainable=*/true);
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    return *spec;
  }

  // Plans and applies; the first line of what is said.
  std::string Do(const ControlRequest& request) {
    const Result<ControlPlan> plan = PlanControl(request, world_.controller(), true);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    if (!plan.ok()) return "";
    world_.Apply({plan->event});
    return plan->lines.at(0);
  }
  Status Refusal(const ControlRequest& request, bool is_alive = true) {
    return PlanControl(request, world_.controller(), is_alive).status();
  }
  void Report(int64_t trial) {
    world_.Apply({world_.NextReport(worker_, TrialNumber{trial}, 0.5)});
  }
  void EndOf(int64_t trial) {
    world_.Apply({world_.End(worker_, TrialNumber{trial}, Outcome::kStopped)});
  }
  TrialStatus StatusOf(int64_t trial) { return world_.trials.at(TrialNumber{trial}).status; }

  ControllerWorld world_;
  WorkerId worker_;
};

::testing::AssertionResult Says(const std::string& text, const std::string& words) {
  if (text.find(words) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << words << "' is not in: " << text;
}

TEST_F(ControlPlanTest, ATrialPausesAtItsNextCheckpointAndGoesOnFromThere) {
  EXPECT_TRUE(Says(Do(Ask(kPause, 0)),
                   "trial 0 pauses at its next checkpoint (none was "
                   "written so far; with --now nothing is waited for)"));
  EXPECT_EQ(StatusOf(0), TrialStatus::kRunning);
  Report(0);
  EXPECT_EQ(StatusOf(0), TrialStatus::kPaused);
  EndOf(0);
  EXPECT_TRUE(world_.Running(worker_).contains(TrialNumber{2})) << "its place is free";
  EXPECT_TRUE(Says(Refusal(Ask(kPause, 0)).message(), "trial 0 of sweep is paused already"));
  EXPECT_TRUE(Says(Do(Ask(kUnpause, 0)), "goes on when there is room"));
  EXPECT_EQ(StatusOf(0), TrialStatus::kPending);
}

TEST_F(ControlPlanTest, APauseThatHasNotBegunCanBeTakenBack) {
  Do(Ask(kPause, 0));
  EXPECT_TRUE(Says(Do(Ask(kUnpause, 0)), "trial 0 goes on without a pause"));
  Report(0);
  EXPECT_EQ(StatusOf(0), TrialStatus::kRunning);
  EXPECT_TRUE(
      Says(Refusal(Ask(kUnpause, 0)).message(), "trial 0 of sweep is not paused but RUNNING"));
}

TEST_F(ControlPlanTest, NowIsWithoutWaiting) {
  Report(0);
  EXPECT_TRUE(Says(Do(Ask(kPause, 0, true)), "goes on from iteration 1 later"));
  EXPECT_EQ(StatusOf(0), TrialStatus::kPaused);
  EXPECT_TRUE(world_.Running(worker_).at(TrialNumber{0}).told_to_die);
  EXPECT_EQ(Do(Ask(kStop, 1, true)), "trial 1 is stopped");
  EXPECT_EQ(StatusOf(1), TrialStatus::kTerminated);
}

TEST_F(ControlPlanTest, ATrialStopsAtItsNextReportAndIsOver) {
  EXPECT_EQ(Do(Ask(kStop, 0)), "trial 0 stops at its next report");
  EXPECT_TRUE(Says(Refusal(Ask(kPause, 0)).message(), "stops at its next report"));
  Report(0);
  EXPECT_EQ(StatusOf(0), TrialStatus::kTerminated);
  const Status refusal = Refusal(Ask(kStop, 0));
  EXPECT_EQ(refusal.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Says(refusal.message(), "trial 0 of sweep is over (TERMINATED, user)"));
}

TEST_F(ControlPlanTest, ATrialThatIsNotThereIsNamedWithThoseThatAre) {
  const Status refusal = Refusal(Ask(kStop, 9));
  EXPECT_EQ(refusal.code(), StatusCode::kNotFound);
  EXPECT_TRUE(Says(refusal.message(), "sweep has no trial 9; it has trials 0 to 1"));
}

TEST_F(ControlPlanTest, AnotherSweepThanTheOneThatRunsIsRefused) {
  ControlRequest request = Ask(kStop);
  request.sweep = "other";
  EXPECT_TRUE(Says(Refusal(request).message(), "this tuner runs sweep, not other"));
}

TEST_F(ControlPlanTest, APausedSweepStartsNothingAndSaysHowItGoesOn) {
  EXPECT_TRUE(Says(Refusal(Ask(kUnpause)).message(), "sweep is not paused"));
  EXPECT_TRUE(Says(Do(Ask(kPause)),
                   "2 running trials pause at their next checkpoints (none was "
                   "written so far; with --now nothing is waited for)"));
  EXPECT_TRUE(Says(Refusal(Ask(kPause)).message(), "paused already"));
  Report(0);
  EndOf(0);
  EXPECT_EQ(StatusOf(0), TrialStatus::kPaused);
  EXPECT_EQ(world_.trials.size(), 2u);
  EXPECT_TRUE(Says(Do(Ask(kPause, {}, true)), "the running trial is ended now"));
  EXPECT_EQ(StatusOf(1), TrialStatus::kPaused);
  EXPECT_EQ(Do(Ask(kUnpause)), "sweep goes on");
  EXPECT_EQ(world_.Running(worker_).count(TrialNumber{0}), 1u);
}

// Its own pause it can be rid of; then it waits for the sweep as they all do.
TEST_F(ControlPlanTest, InAPausedSweepNoTrialGoesOnAlone) {
  Do(Ask(kPause, 1));
  Do(Ask(kPause));
  EXPECT_TRUE(Says(Refusal(Ask(kUnpause, 0)).message(),
                   "trial 0 of sweep is paused with all others; tune unpause sweep goes on"));
  EXPECT_EQ(Do(Ask(kUnpause, 1)), "trial 1 goes on when sweep does, which is paused too");
  Report(1);
  EXPECT_EQ(StatusOf(1), TrialStatus::kPaused);
  Report(0);
  EXPECT_TRUE(Says(Refusal(Ask(kUnpause, 0)).message(), "with all others"));
  Do(Ask(kUnpause));
  EXPECT_EQ(StatusOf(0), TrialStatus::kPending);
  EXPECT_EQ(StatusOf(1), TrialStatus::kPending);
}

TEST_F(ControlPlanTest, AStoppedSweepEndsWithItsTrialsAndCanBeHurried) {
  EXPECT_TRUE(Says(Do(Ask(kStop)), "2 running trials end at their next reports"));
  EXPECT_TRUE(Says(Refusal(Ask(kPause)).message(), "about to end"));
  EXPECT_TRUE(Says(Refusal(Ask(kStop)).message(), "about to end"));
  EXPECT_TRUE(Says(Do(Ask(kStop, {}, true)), "2 trials that are not over end now"));
  EndOf(0);
  EndOf(1);
  EXPECT_TRUE(world_.has_ended);
  EXPECT_EQ(world_.experiment.status, ExperimentStatus::kStopped);
  EXPECT_TRUE(Says(Refusal(Ask(kStop, {}, true)).message(), "sweep is over (STOPPED)"));
}

TEST_F(ControlPlanTest, MaxConcurrentEndsNothingThatRuns) {
  EXPECT_TRUE(
      Says(Do(Ask(kSet)), "limits.max_concurrent is 1, was not set; 2 running trials go on"));
  Report(0);
  world_.Apply({world_.End(worker_, TrialNumber{0}, Outcome::kCompleted)});
  EXPECT_EQ(world_.Running(worker_).size(), 1u);
  EXPECT_TRUE(Says(Refusal(Ask(kSet)).message(), "that is how it is set already"));
}

TEST_F(ControlPlanTest, SettingsAreCheckedAndCountAtOnce) {
  ControlRequest request = Ask(kSet);
  request.settings = {"limits.trial_tiem=10s"};
  EXPECT_TRUE(Says(Refusal(request).message(), "did you mean 'trial_time'?"));
  // Workers that are away count by the lease that they were told.
  request.settings = {"limits.lease=5s"};
  EXPECT_TRUE(Says(Refusal(request).message(), "limits.lease: "));
  request.settings = {"scheduler=asha"};
  EXPECT_TRUE(Says(Refusal(request).message(), "cannot change while a sweep goes on: scheduler"));
  request.settings = {"trainable.env.HF_TOKEN=hf_abc"};
  EXPECT_TRUE(Says(Refusal(request).message(), "trainable.env.HF_TOKEN is a secret"));
  request.settings = {"limits.trial_time=10s", "failure.max_failures=2", "checkpoint.keep=3"};
  EXPECT_TRUE(Says(Do(request), "\"10s\", was not set"));
  const ExperimentSpec& spec = world_.controller().options().spec;
  EXPECT_EQ(spec.limits.trial_time, Seconds(10));
  EXPECT_EQ(spec.failure.max_failures, 2);
  EXPECT_EQ(spec.checkpoint.keep, 3);
  world_.now = world_.now + Seconds(11);
  world_.Apply({DeadlinePassed{}});
  EXPECT_EQ(StatusOf(0), TrialStatus::kTerminated);
  // A replay of the journal comes to the same.
  world_.Recover();
  EXPECT_EQ(world_.controller().options().spec.limits.trial_time, Seconds(10));
  EXPECT_EQ(world_.controller().trials()[0].row.status, TrialStatus::kTerminated);
}

TEST_F(ControlPlanTest, AtRestNothingRunsAndTheWordsSaySo) {
  EXPECT_TRUE(Says(Refusal(Ask(kPause), false).message(), "tune resume sweep"));
  EXPECT_TRUE(Says(Refusal(Ask(kUnpause), false).message(), "tune resume sweep"));
  const auto paused = PlanControl(Ask(kPause, 0), world_.controller(), false);
  ASSERT_TRUE(paused.ok());
  EXPECT_TRUE(Says(paused->lines.at(0), "trial 0 is paused"));
  const auto stopped = PlanControl(Ask(kStop), world_.controller(), false);
  ASSERT_TRUE(stopped.ok());
  EXPECT_TRUE(Says(stopped->lines.at(0), "2 trials that were not over ended with it"));
}

// What is refused was not applied and what was applied is in the log: replay comes to the same.
TEST_F(ControlPlanTest, CommandsAreReplayedLikeAllElse) {
  Do(Ask(kPause, 0));
  Report(0);
  EndOf(0);
  Do(Ask(kSet));
  Do(Ask(kStop, 1));
  const auto before = world_.trials;
  world_.Recover();
  for (const TrialRecord& trial : world_.controller().trials()) {
    EXPECT_EQ(trial.row.status, before.at(trial.row.number).status);
  }
  EXPECT_EQ(world_.controller().max_concurrent(), 1);
  EXPECT_TRUE(world_.controller().trials()[1].is_stop_wanted);
}

TEST_F(ControlPlanTest, AWorkerIsDrainedByItsNameOrWhereTwoHaveItByItsAddress) {
  ControlRequest drain = Ask(ControlVerb::kDrain);
  drain.worker = "gpu-1";
  EXPECT_TRUE(Says(Refusal(drain).message(),
                   "there is no worker 'gpu-1' from another machine; there is none"));
  EXPECT_TRUE(Says(Refusal(drain, false).message(), "no worker is connected"));
  WorkerCapacity capacity;
  capacity.cpu_milli = kWholeMilli;
  const auto join = [&](int64_t id, const std::string& address) {
    world_.Apply({WorkerJoined{WorkerId{id}, "gpu-1", address, 1, capacity, false, address}});
  };
  join(7, "10.0.0.1:5");
  EXPECT_EQ(Do(drain),
            "worker gpu-1 leaves: it gets no more trials, the running trial goes on "
            "elsewhere");
  EXPECT_EQ(world_.worker_rows.at(WorkerId{7}).state, WorkerState::kDraining);
  join(8, "10.0.0.2:5");
  EXPECT_TRUE(Says(Refusal(drain).message(),
                   "2 workers are called gpu-1; name one by its address: 10.0.0.1:5, 10.0.0.2:5"));
  drain.worker = "10.0.0.2:5";
  Do(drain);
  EXPECT_EQ(world_.worker_rows.at(WorkerId{8}).state, WorkerState::kDraining);
}

}  // namespace
}  // namespace tune
