// Trials of several ranks: all begin together, the end of one is the end of all, and the attempt is
// charged once, for the cause.
#include <gtest/gtest.h>

#include <map>

#include "tests/tuner/controller_world.h"
#include "trial_runner/command_spec.h"

namespace tune {
namespace {

using testing::ControllerWorld;

constexpr TrialNumber kFirst{0};
constexpr AttemptNumber kAttempt{1};

ExperimentSpec SpecOfTwoRanks(int64_t samples = 1, int64_t max_failures = 1) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(samples);
  spec.resources.workers = 2;
  spec.resources.spread = true;
  spec.failure.max_failures = max_failures;
  return spec;
}

// Two workers with room for one rank each.
struct TwoWorkers {
  explicit TwoWorkers(const ExperimentSpec& spec = SpecOfTwoRanks()) : world(spec) {
    first = world.Join(1);
    EXPECT_TRUE(world.Running(first).empty()) << "one rank began without the other";
    second = world.Join(1);
  }
  const StartAttempt& Start(WorkerId worker) { return world.Running(worker).at(kFirst).start; }
  bool IsToldToDie(WorkerId worker) {
    const auto& running = world.Running(worker);
    return running.contains(kFirst) && running.at(kFirst).told_to_die;
  }
  const AttemptRow& Row(int64_t attempt = 1) {
    return world.attempts.at({kFirst, AttemptNumber{attempt}});
  }
  // Each rank's end, in this order; what is told to die ends as preempted.
  Event Lost(WorkerId worker) {
    Event event = world.End(worker, kFirst, Outcome::kCrashed, "the connection broke");
    std::get<AttemptFinished>(event).message.detail = EndDetail::kRankLost;
    return event;
  }

  ControllerWorld world;
  WorkerId first, second;
};

void ExpectReplay(ControllerWorld& world) {
  const auto trials = world.trials;
  world.Recover();
  for (const auto& [number, row] : trials) {
    const TrialRecord& record = world.controller().trials()[static_cast<size_t>(number.value)];
    EXPECT_EQ(record.row.status, row.status);
    EXPECT_EQ(record.row.attempts, row.attempts);
    EXPECT_EQ(record.row.iterations, row.iterations);
  }
}

std::vector<StartAttempt> StartsIn(const Transition& transition) {
  std::vector<StartAttempt> starts;
  for (const Action& action : transition.actions) {
    const auto* const send = std::get_if<SendToWorker>(&action);
    const auto* const start = send != nullptr ? std::get_if<StartAttempt>(&send->message) : nullptr;
    if (start != nullptr) starts.push_back(*start);
  }
  return starts;
}

TEST(ControllerRanks, BeginTogetherUnderLeasesOfTheirOwn) {
  TwoWorkers two;
  const StartAttempt& leader = two.Start(two.first);
  const StartAttempt& follower = two.Start(two.second);
  EXPECT_EQ(leader.rank, 0);
  EXPECT_EQ(follower.rank, 1);
  EXPECT_EQ(leader.world_size, 2);
  EXPECT_EQ(follower.world_size, 2);
  EXPECT_TRUE(leader.is_spread && follower.is_spread);
  EXPECT_EQ(leader.ref.attempt, follower.ref.attempt);
  EXPECT_NE(leader.ref.epoch, follower.ref.epoch);
  EXPECT_EQ(leader.config, follower.config);
  EXPECT_EQ(two.Row().worker, two.first);
  EXPECT_EQ(two.Row().other_workers, std::vector<WorkerId>{two.second});
}

TEST(ControllerRanks, OnOneWorkerAreToldSo) {
  ControllerWorld world(SpecOfTwoRanks());
  const WorkerJoined joined{WorkerId{1}, "w", "local", 1, WorkerCapacity{2000, {}}};
  const std::vector<StartAttempt> starts = StartsIn(world.controller().Apply({joined}, world.now));
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_FALSE(starts[0].is_spread || starts[1].is_spread);
}

TEST(ControllerRanks, ATrialThatCompletesEndsWhenItsLastRankHas) {
  TwoWorkers two;
  two.world.Apply({two.world.NextReport(two.first, kFirst, 0.5, true)});
  // A rank that has trained all there was ends first; the other one saves meanwhile.
  two.world.Apply({two.world.End(two.second, kFirst, Outcome::kCompleted)});
  EXPECT_FALSE(two.IsToldToDie(two.first));
  EXPECT_EQ(two.Row().outcome, Outcome::kRunning);
  two.world.Apply({two.world.End(two.first, kFirst, Outcome::kCompleted)});
  EXPECT_EQ(two.Row().outcome, Outcome::kCompleted);
  EXPECT_TRUE(two.world.has_ended);
  EXPECT_EQ(two.world.trials.at(kFirst).status, TrialStatus::kTerminated);
  ExpectReplay(two.world);
}

TEST(ControllerRanks, TheFirstRanksEndIsTheOthers) {
  TwoWorkers two;
  two.world.Apply({two.world.NextReport(two.first, kFirst, 0.5, true)});
  two.world.Apply({two.world.End(two.first, kFirst, Outcome::kCompleted)});
  EXPECT_TRUE(two.IsToldToDie(two.second));
  EXPECT_TRUE(two.world.Running(two.second).at(kFirst).told_at_once);
  EXPECT_FALSE(two.world.has_ended);
  two.world.Apply({two.world.End(two.second, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(two.Row().outcome, Outcome::kCompleted);
  EXPECT_EQ(two.world.worker_rows.at(two.second).state,
            WorkerState::kLeft);  // Not draining before.
  EXPECT_TRUE(two.world.has_ended);
}

TEST(ControllerRanks, ADeadRankRestartsTheTrialFromItsCheckpointAndIsOneFailure) {
  TwoWorkers two;
  two.world.Apply({two.world.NextReport(two.first, kFirst, 0.5)});
  two.world.Apply({two.world.End(two.second, kFirst, Outcome::kKilled, "rank 1: SIGKILL")});
  EXPECT_TRUE(two.IsToldToDie(two.first));
  EXPECT_EQ(two.Row().outcome, Outcome::kRunning);
  two.world.Apply({two.Lost(two.first)});
  EXPECT_EQ(two.Row().outcome, Outcome::kKilled);
  EXPECT_EQ(two.Row().error, "rank 1: SIGKILL");
  // Both again, from the checkpoint.
  for (const WorkerId worker : {two.first, two.second}) {
    EXPECT_EQ(two.Start(worker).ref.attempt, AttemptNumber{2});
    EXPECT_EQ(two.Start(worker).from_iteration, 1);
    EXPECT_FALSE(two.Start(worker).checkpoint_path.empty());
  }
  EXPECT_EQ(two.world.controller().trials()[0].failures.at(Outcome::kKilled), 1);
  ExpectReplay(two.world);
}

TEST(ControllerRanks, TheCauseIsWhatTheDeadOneSaysAlsoWhenItSaysItLast) {
  TwoWorkers two;
  two.world.Apply({two.Lost(two.first)});
  EXPECT_TRUE(two.IsToldToDie(two.second));
  two.world.Apply({two.world.End(two.second, kFirst, Outcome::kOutOfMemory, "none left")});
  EXPECT_EQ(two.Row().outcome, Outcome::kOutOfMemory);
  EXPECT_EQ(two.Row().error, "none left");
}

TEST(ControllerRanks, WithoutACauseTheBrokenConnectionIsOne) {
  TwoWorkers two;
  two.world.Apply({two.Lost(two.first)});
  two.world.Apply({two.world.End(two.second, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(two.Row().outcome, Outcome::kCrashed);
  EXPECT_EQ(two.Row().error, "the connection broke");
  EXPECT_EQ(two.world.trials.at(kFirst).attempts, 2);
}

TEST(ControllerRanks, ALostWorkerEndsTheRanksElsewhereForFree) {
  TwoWorkers two;
  two.world.Apply({two.world.NextReport(two.first, kFirst, 0.5)});
  two.world.Lose(two.second);
  two.world.Apply({WorkerGone{two.second, Departure::kBroken}});
  EXPECT_TRUE(two.IsToldToDie(two.first));
  two.world.Apply({two.world.End(two.first, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(two.Row().outcome, Outcome::kLost);
  EXPECT_EQ(two.world.worker_rows.at(two.first).state, WorkerState::kAlive);  // It was told to.
  // With room for one rank alone nothing begins.
  EXPECT_TRUE(two.world.Running(two.first).empty());
  const WorkerId third = two.world.Join(1);
  EXPECT_EQ(two.Start(third).from_iteration, 1);
  EXPECT_TRUE(two.world.controller().trials()[0].failures.empty());
  ExpectReplay(two.world);
}

TEST(ControllerRanks, OfOneLostWorkerEndTogether) {
  ControllerWorld world(SpecOfTwoRanks());
  ExperimentController& controller = world.controller();
  const WorkerJoined joined{WorkerId{1}, "w", "local", 1, WorkerCapacity{2000, {}}};
  controller.Apply({joined}, world.now);
  const Transition t = controller.Apply({WorkerGone{WorkerId{1}, Departure::kBroken}}, world.now);
  EXPECT_EQ(controller.trials()[0].attempt.outcome, Outcome::kLost);
  EXPECT_EQ(controller.trials()[0].row.status, TrialStatus::kPending);
  EXPECT_EQ(controller.leases().running_count(), 0);
}

TEST(ControllerRanks, AWorkerThatLeavesTakesItsRankWithItAndIsGivenNoOther) {
  TwoWorkers two;
  two.world.Apply({two.world.End(two.second, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(two.world.worker_rows.at(two.second).state, WorkerState::kDraining);
  two.world.Apply({two.world.End(two.first, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(two.Row().outcome, Outcome::kPreempted);
  EXPECT_TRUE(two.world.Running(two.first).empty());
  EXPECT_EQ(two.world.worker_rows.at(two.first).state, WorkerState::kAlive);
}

TEST(ControllerRanks, AnInterruptAsksTheFirstRankAloneAndItsEndEndsTheOthers) {
  TwoWorkers two;
  two.world.Apply({InterruptRequested{}});
  EXPECT_TRUE(two.IsToldToDie(two.first));
  EXPECT_FALSE(two.world.Running(two.first).at(kFirst).told_at_once);
  EXPECT_FALSE(two.IsToldToDie(two.second));
  two.world.Apply({two.world.NextReport(two.first, kFirst, 0.5)});  // What it saved in time.
  two.world.Apply({two.world.End(two.first, kFirst, Outcome::kPreempted)});
  EXPECT_TRUE(two.IsToldToDie(two.second));
  two.world.Apply({two.Lost(two.second)});
  EXPECT_EQ(two.Row().outcome, Outcome::kPreempted);
  EXPECT_TRUE(two.world.controller().trials()[0].failures.empty());
  EXPECT_EQ(two.world.experiment.status, ExperimentStatus::kInterrupted);
  EXPECT_EQ(two.world.trials.at(kFirst).iterations, 1);
}

TEST(ControllerRanks, AVerdictReachesAllRanksAtOnce) {
  ExperimentSpec spec = SpecOfTwoRanks();
  spec.limits.no_progress = Seconds(10);
  TwoWorkers two(spec);
  two.world.now = two.world.now + Seconds(10);
  two.world.Apply({DeadlinePassed{}});
  EXPECT_TRUE(two.IsToldToDie(two.first));
  EXPECT_TRUE(two.IsToldToDie(two.second));
  two.world.Apply({two.world.End(two.second, kFirst, Outcome::kPreempted)});
  two.world.Apply({two.Lost(two.first)});
  EXPECT_EQ(two.Row().outcome, Outcome::kHung);
}

TEST(ControllerRanks, WhatAFollowerReportsIsRefused) {
  TwoWorkers two;
  two.world.Apply({two.world.NextReport(two.second, kFirst, 0.5)});
  EXPECT_EQ(two.world.answers.at({two.Start(two.second).ref, 1}), ReportAnswer::kRefused);
  EXPECT_TRUE(two.world.reports.empty());
}

TEST(ControllerRanks, TakePlacesUnderMaxConcurrentByTrialsAndNeverGoAhead) {
  ExperimentSpec spec = SpecOfTwoRanks(10);
  spec.limits.max_concurrent = 2;
  ControllerWorld world(spec);
  std::vector<WorkerId> workers;
  for (int i = 0; i < 6; ++i) workers.push_back(world.Join(1));
  EXPECT_EQ(world.controller().leases().running_count(), 2);
  // Attempts that take no time are what leases ahead are for.
  for (int64_t trial = 0; trial < 4; ++trial) {
    std::vector<std::pair<int64_t, WorkerId>> ranks;
    for (const WorkerId worker : workers) {
      const auto& running = world.Running(worker);
      if (!running.contains(TrialNumber{trial})) continue;
      ranks.emplace_back(running.at(TrialNumber{trial}).start.rank, worker);
    }
    std::sort(ranks.begin(), ranks.end());
    ASSERT_EQ(ranks.size(), 2u) << "trial " << trial;
    world.Apply({world.NextReport(ranks[0].second, TrialNumber{trial}, 0.5, true)});
    world.Apply({world.End(ranks[1].second, TrialNumber{trial}, Outcome::kCompleted)});
    world.Apply({world.End(ranks[0].second, TrialNumber{trial}, Outcome::kCompleted)});
    EXPECT_EQ(world.controller().leases().running_count(), 2);
    EXPECT_EQ(world.controller().leases().ahead_count(), 0);
  }
}

TEST(ControllerRanks, OfAWorkerThatIsAwayAreWaitedForAndGoOnWhenItIsBack) {
  ControllerWorld world(SpecOfTwoRanks());
  const WorkerId first = world.Join(1);
  const WorkerId before = world.JoinConnected(1, "s");
  world.Break(before);
  EXPECT_FALSE(world.Running(first).at(kFirst).told_to_die);
  const WorkerId back = world.ComeBack(before, 1, "s");
  EXPECT_FALSE(world.Running(back).at(kFirst).told_to_die);
  EXPECT_EQ(world.attempts.at({kFirst, kAttempt}).worker, first);
  EXPECT_EQ(world.attempts.at({kFirst, kAttempt}).other_workers, std::vector<WorkerId>{back});
  world.Apply({world.NextReport(first, kFirst, 0.5, true)});
  world.Apply({world.End(back, kFirst, Outcome::kCompleted)});
  world.Apply({world.End(first, kFirst, Outcome::kCompleted)});
  EXPECT_EQ(world.trials.at(kFirst).attempts, 1);
  EXPECT_TRUE(world.has_ended);
}

TEST(ControllerRanks, ARankWhoseTrialEndedWhileItsWorkerWasAwayIsEndedWhenItIsBack) {
  ControllerWorld world(SpecOfTwoRanks());
  const WorkerId first = world.Join(1);
  const WorkerId before = world.JoinConnected(1, "s");
  world.Break(before);
  world.Apply({world.End(first, kFirst, Outcome::kCrashed, "SIGSEGV")});
  EXPECT_EQ(world.attempts.at({kFirst, kAttempt}).outcome, Outcome::kRunning);
  const WorkerId back = world.ComeBack(before, 1, "s");
  EXPECT_TRUE(world.Running(back).at(kFirst).told_to_die);
  world.Apply({world.End(back, kFirst, Outcome::kPreempted)});
  EXPECT_EQ(world.attempts.at({kFirst, kAttempt}).outcome, Outcome::kCrashed);
  EXPECT_TRUE(world.Running(back).contains(kFirst));
}

TEST(ControllerRanks, StayInOnePlaceUnlessTheyMaySpread) {
  ExperimentSpec spec = SpecOfTwoRanks();
  spec.resources.spread = false;
  ControllerWorld world(spec);
  const WorkerId first = world.Join(1);
  const WorkerId second = world.Join(1);
  EXPECT_TRUE(world.Running(first).empty() && world.Running(second).empty());
  ASSERT_FALSE(world.said.empty());
  EXPECT_NE(world.said.back().find("workers: 2 in one place (spread: false)"), std::string::npos)
      << world.said.back();
}

TEST(ControllerRanks, ThatDoNotFitAreSaidToBeMissing) {
  ExperimentSpec spec = SpecOfTwoRanks();
  ControllerWorld world(spec);
  world.Join(1);
  ASSERT_FALSE(world.said.empty());
  EXPECT_NE(world.said.back().find("it needs cpu: 1, workers: 2; the workers have 1 CPU, 0 GPUs"),
            std::string::npos)
      << world.said.back();
}

// Shares of both would fit on the device that is left.
TEST(ControllerRanks, ThatNeedWholeDevicesWhichAreGoneAreSaidToBeMissing) {
  ExperimentSpec spec = SpecOfTwoRanks();
  spec.resources.gpu_milli = 500;
  ControllerWorld world(spec);
  const WorkerId first = world.Join(1, 1);
  const WorkerId second = world.Join(1, 1);
  world.Apply({world.End(first, kFirst, Outcome::kDeviceOutOfMemory, "no room")});
  world.Apply({world.End(second, kFirst, Outcome::kPreempted)});
  ASSERT_EQ(world.Running(first).at(kFirst).slices[0].milli, 1000);
  world.Lose(second);
  world.Apply({WorkerGone{second, Departure::kGoodbye}});
  world.Apply({world.End(first, kFirst, Outcome::kPreempted)});
  ASSERT_FALSE(world.said.empty());
  EXPECT_NE(world.said.back().find("it needs cpu: 1, gpu: 1, workers: 2"), std::string::npos)
      << world.said.back();
  EXPECT_TRUE(world.controller().NextDeadline().has_value()) << "limits.unplaceable";
}

// It may be one of those that are here, started anew, and then would be counted twice.
TEST(ControllerRanks, AreNotPromisedTheDevicesOfAWorkerThatIsAway) {
  ExperimentSpec spec = SpecOfTwoRanks(2);
  spec.resources.gpu_milli = 500;
  spec.resources.spread = false;
  ControllerWorld world(spec);
  ExperimentController& controller = world.controller();
  const WorkerCapacity capacity{2000, {Device{0, "logical", 0}}};
  const auto starts =
      StartsIn(controller.Apply({WorkerJoined{WorkerId{1}, "w", "local", 1, capacity}}, world.now));
  ASSERT_EQ(starts.size(), 2u);
  WorkerJoined far{WorkerId{2}, "far", "10.0.0.2", 2, capacity};
  far.is_local = false;
  far.session = "s";
  ASSERT_EQ(StartsIn(controller.Apply({far}, world.now)).size(), 2u);
  controller.Apply({WorkerGone{far.worker, Departure::kBroken}}, world.now);
  controller.Apply(
      {AttemptFinished{WorkerId{1}, {starts[0].ref, Outcome::kDeviceOutOfMemory, "no room"}},
       AttemptFinished{WorkerId{1}, {starts[1].ref, Outcome::kPreempted, ""}}},
      world.now);
  EXPECT_EQ(controller.trials()[0].row.status, TrialStatus::kError);
}

// ---- users' programs

ExperimentSpec SpecOfPrograms(const std::string& metric = "") {
  ExperimentSpec spec = SpecOfTwoRanks();
  spec.trainable = Value::MakeMap();
  spec.trainable.Set("command", Value(Value::List{Value("train")}));
  if (!metric.empty()) {
    spec.metric = metric;
    spec.mode = Mode::kMin;
  }
  return spec;
}

// What the worker was told last of that attempt's end.
std::vector<KillAttempt> KillsIn(const Transition& transition) {
  std::vector<KillAttempt> kills;
  for (const Action& action : transition.actions) {
    const auto* const send = std::get_if<SendToWorker>(&action);
    const auto* const kill = send != nullptr ? std::get_if<KillAttempt>(&send->message) : nullptr;
    if (kill != nullptr) kills.push_back(*kill);
  }
  return kills;
}

// A sweep of two ranks' programs on one worker.
struct Programs {
  explicit Programs(const std::string& metric = "") : world(SpecOfPrograms(metric)) {
    const WorkerJoined joined{WorkerId{1}, "w", "local", 1, WorkerCapacity{2000, {}}};
    for (const StartAttempt& start : StartsIn(Apply({joined}))) ranks.push_back(start);
    EXPECT_EQ(ranks.size(), 2u);
  }
  Transition Apply(const std::vector<Event>& events) {
    Transition step = world.controller().Apply(events, world.now);
    for (const AttemptRow& row : step.attempts) rows[row.number.value] = row;
    for (const TrialRow& row : step.trials) trial = row;
    return step;
  }
  Transition End(size_t rank, Outcome outcome, const std::string& error = "",
                 EndDetail detail = EndDetail::kNone) {
    return Apply({AttemptFinished{WorkerId{1}, {ranks[rank].ref, outcome, error, detail}}});
  }
  void Report(double value, const std::string& metric, bool is_final) {
    AttemptReport message{ranks[0].ref, 1, {}};
    message.report.iteration = 1;
    message.report.metrics = {{metric, value}};
    message.report.final = is_final;
    Apply({ReportArrived{WorkerId{1}, message}});
  }

  ControllerWorld world;
  std::vector<StartAttempt> ranks;
  std::map<int64_t, AttemptRow> rows;
  TrialRow trial;
};

TEST(ControllerRanks, ProgramsAreToldWhereTheyStandAndWhereTheyMeet) {
  Programs programs;
  const RankGroup& first = programs.ranks[0].group;
  const RankGroup& second = programs.ranks[1].group;
  EXPECT_EQ(first.local_rank, 0);
  EXPECT_EQ(second.local_rank, 1);
  EXPECT_EQ(second.local_world_size, 2);
  EXPECT_EQ(first.master_port, second.master_port);
  EXPECT_GE(first.master_port, 20'000);
  EXPECT_EQ(first.master_address, "") << "they are on one machine";
}

TEST(ControllerRanks, ProgramsOfTwoWorkersMeetAtTheAddressOfTheFirstOnes) {
  ControllerWorld world(SpecOfPrograms());
  std::vector<StartAttempt> starts;
  for (const int64_t id : {1, 2}) {
    WorkerJoined joined{WorkerId{id}, "w", "10.0.0.1:9", id, WorkerCapacity{1000, {}}};
    joined.is_local = false;
    joined.session = "s" + std::to_string(id);
    joined.rank_address = "10.0.0." + std::to_string(id);
    for (const StartAttempt& start : StartsIn(world.controller().Apply({joined}, world.now))) {
      starts.push_back(start);
    }
  }
  ASSERT_EQ(starts.size(), 2u);
  for (const StartAttempt& start : starts) EXPECT_EQ(start.group.master_address, "10.0.0.1");
  EXPECT_EQ(starts[1].group.node_rank, 1);
  EXPECT_EQ(starts[1].group.node_count, 2);
}

TEST(ControllerRanks, AFirstProgramThatEndsWellLetsTheOthersFinish) {
  Programs programs;
  programs.Report(0.5, "value", true);
  const std::vector<KillAttempt> kills = KillsIn(programs.End(0, Outcome::kCompleted));
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].ref, programs.ranks[1].ref);
  EXPECT_FALSE(kills[0].at_once);
  EXPECT_GT(kills[0].finish_within_ms, 0);
  // Its values are there: what another one does behind them changes nothing, and is told.
  const Transition step =
      programs.End(1, Outcome::kCrashed, "rank 1: the program exited with status 3");
  ASSERT_EQ(step.notes.size(), 1u);
  EXPECT_EQ(step.notes[0].text,
            "trial 0: a rank that did not end well: rank 1: the program exited with status 3; rank "
            "0 had ended with status 0, and the trial's values count");
  EXPECT_EQ(programs.rows.at(1).outcome, Outcome::kCompleted);
  EXPECT_EQ(programs.trial.status, TrialStatus::kTerminated);
}

TEST(ControllerRanks, AJobFailsWithTheRankThatDoesThoughTheFirstOneEndedWell) {
  Programs programs(kExitStatusMetric);
  programs.Report(0, kExitStatusMetric, false);
  programs.End(0, Outcome::kCompleted);
  EXPECT_EQ(programs.trial.status, TrialStatus::kRunning);
  programs.End(1, Outcome::kCrashed, "rank 1: the program exited with status 3");
  EXPECT_EQ(programs.rows.at(1).outcome, Outcome::kCrashed);
  EXPECT_EQ(programs.rows.at(1).error, "rank 1: the program exited with status 3");
}

constexpr char kToldToStop[] = "rank 1: it was told to stop and did not end by itself";
constexpr char kRanOn[] =
    "rank 1: the program ran on for 30 s after rank 0 had ended with status 0, and was ended";

TEST(ControllerRanks, AProgramThatRunsOnForTooLongIsTold) {
  Programs programs;
  programs.Report(0.5, "value", true);
  programs.End(0, Outcome::kCompleted);
  const Transition step = programs.End(1, Outcome::kStopped, kToldToStop);
  ASSERT_EQ(step.notes.size(), 1u);
  EXPECT_NE(step.notes[0].text.find(kRanOn), std::string::npos) << step.notes[0].text;
  EXPECT_EQ(programs.rows.at(1).outcome, Outcome::kCompleted);
}

TEST(ControllerRanks, AJobWhoseProgramRunsOnForTooLongHasFailed) {
  Programs programs(kExitStatusMetric);
  programs.Report(0, kExitStatusMetric, false);
  programs.End(0, Outcome::kCompleted);
  programs.End(1, Outcome::kStopped, kToldToStop);
  EXPECT_EQ(programs.rows.at(1).outcome, Outcome::kCrashed);
  EXPECT_EQ(programs.rows.at(1).error, kRanOn);
}

TEST(ControllerRanks, AJobWhoseProgramMissedAnotherHasFailedThoughTheFirstOneEndsWell) {
  Programs programs(kExitStatusMetric);
  programs.Report(0, kExitStatusMetric, false);
  programs.End(1, Outcome::kCrashed, "rank 1: connection closed by peer", EndDetail::kRankLost);
  programs.End(0, Outcome::kCompleted);
  EXPECT_EQ(programs.rows.at(1).outcome, Outcome::kCrashed);
  EXPECT_EQ(programs.rows.at(1).error, "rank 1: connection closed by peer");
}

// It waits for one that it cannot miss, and would wait for ever.
TEST(ControllerRanks, AProgramThatIsEndedBecauseAnotherMissedItIsNoCause) {
  Programs programs;
  programs.End(0, Outcome::kCrashed, "connection closed by peer", EndDetail::kRankLost);
  programs.End(1, Outcome::kStopped, kToldToStop);
  EXPECT_EQ(programs.rows.at(1).outcome, Outcome::kCrashed);
  EXPECT_EQ(programs.rows.at(1).error, "connection closed by peer");
}

TEST(ControllerRanks, AFailureTellsMoreThanAFirstProgramWithoutAValue) {
  Programs programs;
  const std::vector<KillAttempt> kills =
      KillsIn(programs.End(0, Outcome::kBadConfig, "no_metric: the program ended with status 0"));
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_FALSE(kills[0].at_once);
  programs.End(1, Outcome::kCrashed, "rank 1: the program exited with status 5");
  EXPECT_EQ(programs.rows.at(1).outcome, Outcome::kCrashed);
  EXPECT_EQ(programs.rows.at(1).error, "rank 1: the program exited with status 5");
}

TEST(ControllerRanks, AProgramThatMissesAnotherIsNoCauseWhereThatOneSaysWhy) {
  Programs programs;
  const std::vector<KillAttempt> kills = KillsIn(
      programs.End(0, Outcome::kCrashed, "connection closed by peer", EndDetail::kRankLost));
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_FALSE(kills[0].at_once);
  EXPECT_GT(kills[0].finish_within_ms, 0);
  programs.End(1, Outcome::kCrashed, "rank 1: the program exited with status 3");
  EXPECT_EQ(programs.rows.at(1).error, "rank 1: the program exited with status 3");
}

TEST(ControllerRanks, AProgramThatFailsEndsTheOthersAtOnce) {
  Programs programs;
  const std::vector<KillAttempt> kills =
      KillsIn(programs.End(1, Outcome::kCrashed, "rank 1: the program exited with status 3"));
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_TRUE(kills[0].at_once);
}

TEST(ControllerRanks, WhatAnotherRankNotesIsTold) {
  Programs programs;
  programs.Report(0.5, "value", true);
  const Transition step =
      programs.End(1, Outcome::kCompleted, "values of other ranks: rank 1 reports too");
  ASSERT_EQ(step.notes.size(), 1u);
  EXPECT_EQ(step.notes[0].text, "trial 0: values of other ranks: rank 1 reports too");
}

}  // namespace
}  // namespace tune
