// Workers that outlive their connection: away, back, silent, and what becomes of their trials.
#include <gtest/gtest.h>

#include "tests/tuner/controller_world.h"

namespace tune {
namespace {

using testing::ControllerWorld;

constexpr TrialNumber kFirst{0};
constexpr TrialNumber kSecond{1};

bool HasSaid(const ControllerWorld& world, const std::string& text) {
  for (const std::string& line : world.said) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(ControllerLeases, AConnectedWorkerThatComesBackGoesOnWithTheSameAttempt) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId before = world.JoinConnected(1, "s");
  world.Apply({world.NextReport(before, kFirst, 0.3)});
  world.Break(before);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kRunning);
  const WorkerId after = world.ComeBack(before, 1, "s");
  EXPECT_EQ(world.worker_rows.at(before).state, WorkerState::kLeft);
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).worker, after);
  world.Apply({world.NextReport(after, kFirst, 0.4)});
  world.Apply({world.NextReport(after, kFirst, 0.5, true)});
  world.Apply({world.End(after, kFirst, Outcome::kCompleted)});
  EXPECT_EQ(world.trials.at(kFirst).attempts, 1);
  EXPECT_EQ(world.trials.at(kFirst).iterations, 3);
  EXPECT_TRUE(world.has_ended);
}

TEST(ControllerLeases, ItsTrialsAreGivenToOthersWhenTheLeaseIsOver) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId first = world.JoinConnected(1, "s");
  world.Apply({world.NextReport(first, kFirst, 0.3)});
  const AttemptRef old = world.Running(first).at(kFirst).start.ref;
  world.Break(first);
  const WorkerId second = world.Join(1);
  EXPECT_TRUE(world.Running(second).empty());
  ASSERT_TRUE(world.controller().NextDeadline().has_value());
  EXPECT_EQ(*world.controller().NextDeadline(), world.now + Seconds(60));
  world.now = world.now + Seconds(60);
  world.Apply({DeadlinePassed{}});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kLost);
  EXPECT_EQ(world.worker_rows.at(first).state, WorkerState::kLost);
  ASSERT_TRUE(world.Running(second).contains(kFirst));
  EXPECT_EQ(world.Running(second).at(kFirst).start.from_iteration, 1);
  // The old one comes back all the same: what it still runs is to be killed, and counts for
  // nothing.
  const Event late = world.NextReport(first, kFirst, 0.99);
  const WorkerId back = world.ComeBack(first, 1, "s");
  EXPECT_TRUE(world.Running(back).at(kFirst).told_to_die);
  ReportArrived report = std::get<ReportArrived>(late);
  report.worker = back;
  world.Apply({report});
  EXPECT_EQ(world.answers.at({old, report.message.sequence}), ReportAnswer::kRefused);
  EXPECT_EQ(world.reports.size(), 1u);
}

WorkerJoined Restarted(int64_t id, const std::string& name, const std::string& session,
                       std::vector<std::string> ended) {
  WorkerCapacity capacity;
  capacity.cpu_milli = kWholeMilli;
  return {WorkerId{id}, name, "10.0.0.2:8", 1, capacity, false, session, {}, std::move(ended)};
}

TEST(ControllerLeases, AWorkerThatStartsAgainEndsTheLeaseOfItsFormerSelfAtOnce) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId former = world.JoinConnected(1, "s");
  world.Apply({world.NextReport(former, kFirst, 0.3)});
  world.Break(former);
  const WorkerId again{former.value + 1};
  const Transition rows = world.Apply({Restarted(again.value, "w1", "t", {"other", "s"})});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kLost);
  EXPECT_EQ(world.worker_rows.at(former).state, WorkerState::kLost);
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{2}}).worker, again);
  EXPECT_TRUE(HasSaid(world, "worker w1 is lost: its process ended"));
}

TEST(ControllerLeases, AWorkerOfTheSameNameThatLivesKeepsItsLease) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId first = world.JoinConnected(1, "s");
  world.Apply({world.NextReport(first, kFirst, 0.3)});
  world.Break(first);
  world.Apply({Restarted(first.value + 1, "w1", "t", {})});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kRunning);
  EXPECT_EQ(world.worker_rows.at(first).state, WorkerState::kAlive);
}

TEST(ControllerLeases, ADrainedWorkerIsAskedToLeaveAndGetsNothingMore) {
  ControllerWorld world(ControllerWorld::MakeSpec(2));
  const WorkerId worker = world.JoinConnected(1, "s");
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  world.Apply({WorkerDrainRequested{worker}});
  EXPECT_TRUE(world.shut_down.contains(worker));
  EXPECT_EQ(world.worker_rows.at(worker).state, WorkerState::kDraining);
  // It gives its trial back, free of charge, which goes on elsewhere.
  world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
  EXPECT_TRUE(world.Running(worker).empty());
  world.Apply({WorkerGone{worker, Departure::kGoodbye, "tune drain"}});
  EXPECT_EQ(world.worker_rows.at(worker).state, WorkerState::kLeft);
  const WorkerId other = world.Join(1);
  ASSERT_TRUE(world.Running(other).contains(kFirst));
  EXPECT_EQ(world.Running(other).at(kFirst).start.from_iteration, 1);
  world.Apply({WorkerDrainRequested{worker}});  // It is gone: nothing happens.
}

TEST(ControllerLeases, AWorkerThatComesBackWithoutHavingHeardThatItIsDrainedIsToldAgain) {
  ControllerWorld world(ControllerWorld::MakeSpec(2));
  const WorkerId before = world.JoinConnected(1, "s");
  world.Apply({WorkerDrainRequested{before}});  // Its connection is broken already.
  world.Break(before);
  const WorkerId back = world.ComeBack(before, 1, "s");
  EXPECT_TRUE(world.shut_down.contains(back));
  EXPECT_EQ(world.worker_rows.at(back).state, WorkerState::kDraining);
  // Again nothing of it arrives, and the tuner dies.
  world.Recover();
  world.Apply({TunerRestarted{true}});
  const WorkerId again = world.ComeBack(back, 1, "s");
  EXPECT_TRUE(world.shut_down.contains(again));
  world.Apply({world.End(again, kFirst, Outcome::kPreempted)});
  EXPECT_TRUE(world.Running(again).empty());
}

TEST(ControllerLeases, AnIdleWorkerThatComesBackWithoutHavingHeardThatItIsDrainedIsToldAgain) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId busy = world.Join(1);
  const WorkerId idle = world.JoinConnected(1, "s");
  world.Apply({WorkerDrainRequested{idle}});
  world.Break(idle);
  const WorkerId back = world.ComeBack(idle, 1, "s");
  EXPECT_TRUE(world.shut_down.contains(back));
  world.Apply({world.End(busy, kFirst, Outcome::kLost)});
  EXPECT_TRUE(world.Running(back).empty());
}

TEST(ControllerLeases, AnAttemptThatNeverReachedTheWorkerIsSentAgain) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId before = world.JoinConnected(1, "s");
  const AttemptRef sent = world.Running(before).at(kFirst).start.ref;
  world.Running(before).clear();  // It was under way when the connection broke.
  world.Break(before);
  const WorkerId after = world.ComeBack(before, 1, "s");
  ASSERT_TRUE(world.Running(after).contains(kFirst));
  EXPECT_EQ(world.Running(after).at(kFirst).start.ref, sent);
  EXPECT_EQ(world.trials.at(kFirst).attempts, 1);
}

TEST(ControllerLeases, WhatAWorkerStillRunsWithoutALeaseTakesRoomUntilItHasEnded) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId before = world.JoinConnected(1, "s");
  world.Break(before);
  world.now = world.now + Seconds(60);
  world.Apply({DeadlinePassed{}});
  const WorkerId back = world.ComeBack(before, 1, "s");
  EXPECT_EQ(world.Running(back).size(), 1u);  // The old attempt alone, told to end.
  EXPECT_TRUE(world.Running(back).at(kFirst).told_to_die);
  world.Apply({world.End(back, kFirst, Outcome::kPreempted)});
  ASSERT_TRUE(world.Running(back).contains(kFirst));
  EXPECT_EQ(world.Running(back).at(kFirst).start.ref.attempt, AttemptNumber{2});
}

TEST(ControllerLeases, WhatAWorkerStillRunsForAnotherSweepTakesNoRoomHere) {
  // It ends it unasked, and says nothing of it: its numbers may mean other attempts here.
  ControllerWorld elsewhere(ControllerWorld::MakeSpec(1));
  const WorkerId there = elsewhere.JoinConnected(1, "s");
  const StartAttempt held = elsewhere.Running(there).at(kFirst).start;
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId here{7};
  WorkerCapacity capacity;
  capacity.cpu_milli = kWholeMilli;
  world.Apply({WorkerJoined{here,
                            "w",
                            "10.0.0.2:7",
                            1,
                            capacity,
                            false,
                            "s",
                            {HeldAttempt{held.ref, held.cpu_milli, held.slices}}}});
  EXPECT_EQ(world.controller().leases().running_count(), 1);
}

TEST(ControllerLeases, TheTimeInWhichNoTunerRanIsNoTimeOfATrialThatWasLost) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  spec.limits.trial_time = Seconds(100);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.now = world.now + Seconds(10);
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  const Instant last = world.now;
  world.Lose(worker);
  world.now = world.now + Seconds(86'400);
  world.Recover();
  world.Apply({TunerRestarted{}});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).finished_at, last);
  EXPECT_DOUBLE_EQ(world.trials.at(kFirst).run_seconds, 10);
  const WorkerId next = world.Join(1);
  EXPECT_FALSE(world.Running(next).at(kFirst).told_to_die);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kRunning);
}

TEST(ControllerLeases, TheTimeInWhichTheTunerSleptIsNoTimeOfATrial) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  spec.limits.trial_time = Seconds(100);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.now = world.now + Seconds(10);
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  world.now = world.now + Seconds(86'400);
  world.Apply({TunerSlept{Seconds(86'400)}, DeadlinePassed{}});
  EXPECT_FALSE(world.Running(worker).at(kFirst).told_to_die);
  world.now = world.now + Seconds(91);
  world.Apply({DeadlinePassed{}});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_die);
}

TEST(ControllerLeases, TheTimeInWhichTheTunerSleptIsNoTimeOfTheSweep) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(2);
  spec.limits.sweep_time = Seconds(100);
  ControllerWorld world(spec);
  world.Join(1);
  world.now = world.now + Seconds(86'410);
  world.Apply({TunerSlept{Seconds(86'400)}, DeadlinePassed{}});
  EXPECT_TRUE(world.controller().sweep().GivesOut());
  world.now = world.now + Seconds(91);
  world.Apply({DeadlinePassed{}});
  EXPECT_FALSE(world.controller().sweep().GivesOut());
}

TEST(ControllerLeases, TheTimeInWhichTheTunerSleptIsNoWaitingForAWorker) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  spec.limits.unplaceable = Seconds(600);
  ControllerWorld world(spec);
  world.Apply({DeadlinePassed{}});
  world.now = world.now + Seconds(86'410);
  world.Apply({TunerSlept{Seconds(86'400)}, DeadlinePassed{}});
  EXPECT_FALSE(world.has_ended);
  world.now = world.now + Seconds(589);
  world.Apply({DeadlinePassed{}});
  EXPECT_FALSE(world.has_ended);
  world.now = world.now + Seconds(1);
  world.Apply({DeadlinePassed{}});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kInterrupted);
}

TEST(ControllerLeases, ASweepOfDecisionVersion15CountsItAsWaitingForAWorker) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  spec.limits.unplaceable = Seconds(600);
  ControllerWorld world(spec, nullptr, 15);
  world.Apply({DeadlinePassed{}});
  world.now = world.now + Seconds(86'410);
  world.Apply({TunerSlept{Seconds(86'400)}, DeadlinePassed{}});
  EXPECT_TRUE(world.has_ended);
}

TEST(ControllerLeases, AWorkerThatNeverComesBackRanForNoLongerThanItsLease) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  spec.limits.trial_time = Seconds(1000);
  ControllerWorld world(spec);
  const WorkerId worker = world.JoinConnected(1, "s");
  world.now = world.now + Seconds(10);
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  world.Lose(worker);
  world.now = world.now + Seconds(86'400);
  world.Recover();
  world.Apply({TunerRestarted{true}});
  world.now = world.now + Seconds(60);
  world.Apply({DeadlinePassed{}});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kLost);
  EXPECT_LE(world.trials.at(kFirst).run_seconds, 10 + 2 * 60);
  const WorkerId next = world.Join(1);
  EXPECT_FALSE(world.Running(next).at(kFirst).told_to_die);
}

TEST(ControllerLeases, AHalfOpenConnectionIsReplacedByTheNewOne) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId before = world.JoinConnected(1, "s");
  const WorkerId after = world.ComeBack(before, 1, "s");  // The tuner noticed nothing.
  EXPECT_FALSE(world.controller().leases().HasWorker(before));
  world.Apply({world.NextReport(after, kFirst, 0.3, true)});
  world.Apply({world.End(after, kFirst, Outcome::kCompleted)});
  EXPECT_TRUE(world.has_ended);
}

TEST(ControllerLeases, AReportSentAgainIsAnsweredAlikeAndCountedOnce) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId before = world.JoinConnected(1, "s");
  ReportArrived report = std::get<ReportArrived>(world.NextReport(before, kFirst, 0.3));
  world.Apply({report});
  world.Break(before);
  report.worker = world.ComeBack(before, 1, "s");
  world.answers.clear();
  world.Apply({report});
  EXPECT_EQ(world.reports.size(), 1u);
  EXPECT_EQ(world.answers.at({report.message.ref, 1}), ReportAnswer::kContinue);
}

TEST(ControllerLeases, ASilentWorkerIsLostAtOnce) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId first = world.JoinConnected(1, "s");
  const WorkerId second = world.Join(1);
  const Transition t = world.Apply({WorkerGone{first, Departure::kSilent}});
  EXPECT_TRUE(std::any_of(t.actions.begin(), t.actions.end(), [&](const Action& action) {
    const auto* const closed = std::get_if<DisconnectWorker>(&action);
    return closed != nullptr && closed->worker == first;
  }));
  EXPECT_TRUE(world.Running(second).contains(kFirst));
  EXPECT_TRUE(HasSaid(world, "nothing was heard of it for 1 min 00 s"));
}

TEST(ControllerLeases, AfterARestartConnectedWorkersMayComeBackAndLocalOnesAreFenced) {
  ControllerWorld world(ControllerWorld::MakeSpec(2));
  const WorkerId local = world.Join(1);
  const WorkerId connected = world.JoinConnected(1, "s");
  world.Recover();
  world.Apply({TunerRestarted{true}});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kLost);
  EXPECT_EQ(world.trials.at(kSecond).status, TrialStatus::kRunning);
  world.Lose(local);
  const WorkerId back = world.ComeBack(connected, 1, "s");
  world.Apply({world.NextReport(back, kSecond, 0.3, true)});
  EXPECT_EQ(world.trials.at(kSecond).attempts, 1);
}

TEST(ControllerLeases, WhereNobodyCanFindTheTunerEveryLeaseIsFencedAtARestart) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  world.JoinConnected(1, "s");
  world.Recover();
  world.Apply({TunerRestarted{false}});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kLost);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPending);
}

TEST(ControllerLeases, AnInterruptDoesNotWaitForAWorkerThatIsAway) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId worker = world.JoinConnected(1, "s");
  world.Break(worker);
  world.Apply({InterruptRequested{}});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kInterrupted);
}

TEST(ControllerLeases, ATrialOnAWorkerThatIsAwayIsNotTakenForHung) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  spec.limits.no_progress = Seconds(10);
  ControllerWorld world(spec);
  const WorkerId worker = world.JoinConnected(1, "s");
  world.Break(worker);
  world.now = world.now + Seconds(30);
  world.Apply({DeadlinePassed{}});
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kRunning);
  const WorkerId back = world.ComeBack(worker, 1, "s");
  world.now = world.now + Seconds(9);
  world.Apply({DeadlinePassed{}});
  EXPECT_FALSE(world.Running(back).at(kFirst).told_to_die);
  world.now = world.now + Seconds(1);
  world.Apply({DeadlinePassed{}});
  EXPECT_TRUE(world.Running(back).at(kFirst).told_to_die);
}

TEST(ControllerLeases, EndsOfConnectedWorkersAreAcknowledgedAndLocalOnesNeedNone) {
  for (const bool is_local : {true, false}) {
    ControllerWorld world(ControllerWorld::MakeSpec(2));
    const WorkerId worker = is_local ? world.Join(1) : world.JoinConnected(1, "s");
    world.Apply({world.NextReport(worker, kFirst, 0.3, true)});
    const Transition t = world.Apply({world.End(worker, kFirst, Outcome::kCompleted)});
    const bool acknowledged =
        std::any_of(t.actions.begin(), t.actions.end(), [](const Action& action) {
          const auto* const send = std::get_if<SendToWorker>(&action);
          const auto* const ack =
              send == nullptr ? nullptr : std::get_if<EndsAcknowledged>(&send->message);
          return ack != nullptr && ack->ends_seen == 1;
        });
    EXPECT_EQ(acknowledged, !is_local);
  }
}

TEST(ControllerLeases, ATrialThatHasUsedItsTimeGetsNoFurtherLease) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(1);
  spec.limits.trial_time = Seconds(10);
  spec.failure.max_failures = -1;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.3)});
  world.now = world.now + Seconds(11);
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed, "at last")});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kTerminated);
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kStopCondition);
  EXPECT_EQ(world.trials.at(kFirst).attempts, 1);
}

// It may still be on its way to the worker, whose process opens it before it hears of the stop.
TEST(ControllerLeases, TheCheckpointOfAStartStaysUntilItsFirstReportOrItsEnd) {
  for (const bool reports : {true, false}) {
    ExperimentSpec spec = ControllerWorld::MakeSpec(2);
    spec.checkpoint.disk_budget_bytes = 100;
    ControllerWorld world(spec);
    const WorkerId worker = world.Join(2);
    const auto report = [&world, worker](TrialNumber trial) {
      Event event = world.NextReport(worker, trial, trial == kSecond ? 0.9 : 0.3);
      std::get<ReportArrived>(event).message.report.checkpoint.bytes = 100;
      world.Apply({event});
    };
    report(kFirst);
    report(kSecond);
    world.Apply({world.End(worker, kFirst, Outcome::kPreempted)});
    const WorkerId next = world.Join(1);
    const StartAttempt& start = world.Running(next).at(kFirst).start;
    ASSERT_EQ(start.checkpoint_path, "/artifacts/sweep/0/checkpoint_1");
    if (reports) {
      world.Apply({world.NextReport(next, kFirst, 0.4, false, /*with_checkpoint=*/false)});
      world.Apply({StopRequested{kFirst, true}});
      EXPECT_EQ(world.removed, std::vector<std::string>{"/artifacts/sweep/0/checkpoint_1"});
      continue;
    }
    world.Apply({StopRequested{kFirst, true}});
    EXPECT_TRUE(world.removed.empty());
    world.Apply({world.End(next, kFirst, Outcome::kStopped)});
    EXPECT_EQ(world.removed, std::vector<std::string>{"/artifacts/sweep/0/checkpoint_1"});
  }
}

ExperimentSpec OneLossEndsTheSweep() {
  ExperimentSpec spec = ControllerWorld::MakeSpec(3);
  spec.limits.failed_trials = 1;
  spec.failure.causes[Outcome::kLost].max_failures = 0;
  return spec;
}

TEST(ControllerLeases, ALimitOfFailedTrialsThatIsReachedAtARestartEndsTheSweep) {
  ControllerWorld world(OneLossEndsTheSweep());
  world.Join(1);
  world.JoinConnected(1, "a");
  world.JoinConnected(1, "b");
  world.Recover();
  world.Apply({TunerRestarted{true}});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kStopped);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kError);
  EXPECT_EQ(world.trials.at(kSecond).status, TrialStatus::kTerminated);
}

TEST(ControllerLeases, ALimitOfFailedTrialsThatALostWorkerReachesEndsTheWaitForTheOthers) {
  ControllerWorld world(OneLossEndsTheSweep());
  const WorkerId first = world.JoinConnected(1, "a");
  const WorkerId second = world.JoinConnected(1, "b");
  world.Break(first);
  world.Break(second);
  world.now = world.now + Seconds(60);
  world.Apply({DeadlinePassed{}});
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.worker_rows.at(second).state, WorkerState::kLost);
}

}  // namespace
}  // namespace tune
