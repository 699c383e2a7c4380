// What a scheduler's orders about paused trials lead to.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "core/json.h"
#include "tests/tuner/controller_world.h"

namespace tune {
namespace {

using testing::ControllerWorld;

constexpr TrialNumber kFirst{0};
constexpr TrialNumber kSecond{1};

// Pauses every trial at its first report (the second one at iteration `second_pause`); when
// `order.trial` and as many as `paused_count` are paused, gives the order. Remembers what it was
// told.
class PausingScheduler final : public TrialScheduler {
 public:
  struct Told {
    int64_t ended = 0;
    int64_t no_more_trials = 0;
  };

  PausingScheduler(Order order, int64_t paused_count, int64_t second_pause, Told& told)
      : order_(order), paused_count_(paused_count), second_pause_(second_pause), told_(told) {}

  void OnTrialAdded(TrialNumber) override {}
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric) override {
    if (iteration != (trial == kSecond ? second_pause_ : 1)) return Decision{};
    if (++paused_ == paused_count_) orders_.push_back(order_);
    return Decision{Verdict::kPause, StopCause::kNone, 1, {}, 1, 1};
  }
  void OnTrialEnded(TrialNumber, bool) override { ++told_.ended; }
  void OnNoMoreTrials() override { ++told_.no_more_trials; }
  std::vector<Order> TakeOrders() override { return std::exchange(orders_, {}); }
  std::vector<RungView> Rungs() const override { return {}; }
  std::string name() const override { return "pausing"; }
  std::string DebugString() const override { return "pausing"; }

 private:
  Order order_;
  int64_t paused_count_;
  int64_t second_pause_;
  Told& told_;
  int64_t paused_ = 0;
  std::vector<Order> orders_;
};

struct Sweep {
  explicit Sweep(Order order, int64_t paused_count = 2, int64_t samples = 2,
                 int64_t second_pause = 1)
      : world(Spec(samples), [order, paused_count, second_pause, this] {
          return std::make_unique<PausingScheduler>(order, paused_count, second_pause, told);
        }) {}

  static ExperimentSpec Spec(int64_t samples) {
    ExperimentSpec spec = ControllerWorld::MakeSpec();
    spec.samples = samples;
    return spec;
  }

  // One report, which pauses it, and the end of its attempt.
  void PauseAtOnce(WorkerId worker, TrialNumber trial) {
    world.now = world.now + Seconds(1);  // Too long for leases ahead.
    world.Apply({world.NextReport(worker, trial, 0.5)});
    world.Apply({world.End(worker, trial, Outcome::kStopped)});
  }

  PausingScheduler::Told told;
  ControllerWorld world;
};

// Of two paused trials on one worker, the second has been told to go on from the first one.
struct ExploitingSweep : Sweep {
  ExploitingSweep() : Sweep({Order::Kind::kExploit, kSecond, kFirst}), worker(world.Join(1)) {
    PauseAtOnce(worker, kFirst);
    PauseAtOnce(worker, kSecond);
    EXPECT_TRUE(world.Running(worker).contains(kSecond));
  }

  WorkerId worker;
};

TEST(ControllerOrders, AResumedTrialGoesOnFromItsCheckpointBeforeNewOnes) {
  Sweep sweep({Order::Kind::kResume, kFirst, {}, 1, 0.25, 1, 2}, 2, 3);
  ControllerWorld& world = sweep.world;
  const WorkerId worker = world.Join(1);
  sweep.PauseAtOnce(worker, kFirst);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPaused);
  sweep.PauseAtOnce(worker, kSecond);
  ASSERT_TRUE(world.Running(worker).contains(kFirst));
  EXPECT_EQ(world.Running(worker).at(kFirst).start.from_iteration, 1);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kRunning);
  ASSERT_EQ(world.orders.size(), 1u);
  EXPECT_EQ(world.orders[0].order.rank, 1);
  EXPECT_EQ(world.orders[0].iteration, 1);
}

TEST(ControllerOrders, AStoppedOneIsOverAndTheSchedulerIsNotToldWhatItSaid) {
  Sweep sweep({Order::Kind::kStop, kFirst});
  ControllerWorld& world = sweep.world;
  const WorkerId worker = world.Join(1);
  sweep.PauseAtOnce(worker, kFirst);
  sweep.PauseAtOnce(worker, kSecond);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kTerminated);
  EXPECT_EQ(world.trials.at(kFirst).stop_reason, StopReason::kScheduler);
  EXPECT_EQ(sweep.told.ended, 0);
}

TEST(ControllerOrders, ATrialThatACommandPausedTooStaysPausedWhenTheSchedulerResumesIt) {
  Sweep sweep({Order::Kind::kResume, kFirst});
  ControllerWorld& world = sweep.world;
  const WorkerId worker = world.Join(1);
  sweep.PauseAtOnce(worker, kFirst);
  world.Apply({PauseRequested{kFirst, false}});
  sweep.PauseAtOnce(worker, kSecond);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPaused);
  EXPECT_FALSE(world.has_ended);
  world.Apply({UnpauseRequested{kFirst}});
  EXPECT_TRUE(world.Running(worker).contains(kFirst));
}

TEST(ControllerOrders, ATrialThatACommandWasToPauseStaysPausedWhereTheSchedulerPausedItFirst) {
  Sweep sweep({Order::Kind::kResume, kFirst});
  ControllerWorld& world = sweep.world;
  const WorkerId worker = world.Join(1);
  world.now = world.now + Seconds(1);
  world.Apply({PauseRequested{kFirst, false}});
  world.Apply({world.NextReport(worker, kFirst, 0.5, /*final=*/false, /*with_checkpoint=*/false)});
  world.Apply({world.End(worker, kFirst, Outcome::kStopped)});
  sweep.PauseAtOnce(worker, kSecond);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPaused);
  EXPECT_FALSE(world.has_ended);
  world.Apply({UnpauseRequested{kFirst}});
  EXPECT_TRUE(world.Running(worker).contains(kFirst));
}

TEST(ControllerOrders, ACommandCannotUndoTheSchedulersPause) {
  Sweep sweep({Order::Kind::kResume, kFirst}, 3, 3);
  ControllerWorld& world = sweep.world;
  const WorkerId worker = world.Join(1);
  sweep.PauseAtOnce(worker, kFirst);
  world.Apply({PauseRequested{kFirst, false}});
  world.Apply({UnpauseRequested{kFirst}});
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPaused);
  EXPECT_TRUE(world.Running(worker).contains(kSecond));
}

TEST(ControllerOrders, OneThatIsResumedBeforeItsAttemptEndedGoesOnWhenItHas) {
  Sweep sweep({Order::Kind::kResume, kFirst}, 1, 1);
  ControllerWorld& world = sweep.world;
  const WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  EXPECT_TRUE(world.Running(worker).at(kFirst).told_to_stop);
  // However it ends: it owed nothing more.
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed, "exit status 1")});
  ASSERT_TRUE(world.Running(worker).contains(kFirst));
  EXPECT_EQ(world.Running(worker).at(kFirst).start.from_iteration, 1);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kRunning);
}

TEST(ControllerOrders, TheSchedulerHearsOnceThatNoTrialFollowsAndAgainAfterAnExtension) {
  Sweep sweep({Order::Kind::kResume, kFirst}, 9, 2);
  ControllerWorld& world = sweep.world;
  const WorkerId worker = world.Join(1);
  EXPECT_EQ(sweep.told.no_more_trials, 0);
  sweep.PauseAtOnce(worker, kFirst);
  EXPECT_EQ(sweep.told.no_more_trials, 1);  // The second and last one has begun.
  world.Apply({SamplesExtended{3}});
  sweep.PauseAtOnce(worker, kSecond);
  EXPECT_EQ(sweep.told.no_more_trials, 2);
}

TEST(ControllerOrders, TheSchedulerHearsAgainThatNoTrialFollowsOnceAFailedOneIsRetried) {
  Sweep sweep({Order::Kind::kResume, kFirst}, 9, 2);
  ControllerWorld& world = sweep.world;
  const WorkerId worker = world.Join(1);
  sweep.PauseAtOnce(worker, kFirst);
  world.Apply({world.End(worker, kSecond, Outcome::kCrashed, "exit status 1")});
  EXPECT_EQ(world.trials.at(kSecond).status, TrialStatus::kError);
  EXPECT_EQ(sweep.told.no_more_trials, 1);
  world.Apply({ErroredRetried{}});
  EXPECT_EQ(sweep.told.no_more_trials, 2);
}

// The cause was not mended: each fails once more, and none is left without its turn.
TEST(ControllerOrders, FailuresThatAreRetriedAndAlikeEndNoSweepThatHasResults) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(6);
  ControllerWorld world(spec);
  WorkerId worker = world.Join(1);
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  world.Apply({world.End(worker, kFirst, Outcome::kCompleted)});
  const auto fail_all = [&] {
    for (int64_t number = 1; number < 6; ++number) {
      ASSERT_TRUE(world.Running(worker).contains(TrialNumber{number})) << number;
      world.Apply({world.End(worker, TrialNumber{number}, Outcome::kBadConfig, "no such file")});
    }
  };
  fail_all();
  ASSERT_TRUE(world.has_ended);
  world.Recover();
  world.Apply({TunerRestarted{}, ErroredRetried{}});
  worker = world.Join(1);
  fail_all();
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kFinished);
  for (int64_t number = 1; number < 6; ++number) {
    EXPECT_EQ(world.trials.at(TrialNumber{number}).status, TrialStatus::kError) << number;
  }
}

TEST(ControllerOrders, WhatIsPausedForGoodDoesNotKeepTheSweepFromItsEnd) {
  Sweep sweep({Order::Kind::kResume, kFirst}, 9, 2);
  ControllerWorld& world = sweep.world;
  const WorkerId worker = world.Join(1);
  sweep.PauseAtOnce(worker, kFirst);
  sweep.PauseAtOnce(worker, kSecond);
  EXPECT_TRUE(world.has_ended);
  EXPECT_EQ(world.experiment.status, ExperimentStatus::kFinished);
  EXPECT_EQ(world.trials.at(kFirst).status, TrialStatus::kPaused);
}

// Of three trials at a rung, of which one passes, the best reports for the last time there: what
// the two others are told, by their numbers.
std::map<int64_t, Order::Kind> ToldWhereTheBestEnds(int64_t decision_version) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(3);
  spec.scheduler = *ParseJson(R"({"hyperband": {"max_t": 3, "reduction_factor": 3}})");
  ControllerWorld world(spec, nullptr, decision_version);
  const WorkerId worker = world.Join(3);
  for (const TrialNumber trial : {kFirst, kSecond}) {
    world.Apply({world.NextReport(worker, trial, trial == kFirst ? 0.5 : 0.4)});
    world.Apply({world.End(worker, trial, Outcome::kStopped)});
  }
  const TrialNumber best{2};
  world.Apply({world.NextReport(worker, best, 0.9, /*final=*/true)});
  EXPECT_EQ(world.trials.at(best).stop_reason, StopReason::kCompleted);
  std::map<int64_t, Order::Kind> told;
  for (const OrderRow& row : world.orders) told[row.order.trial.value] = row.order.kind;
  world.Recover();
  return told;
}

TEST(ControllerOrders, ATrialThatEndsAtARungLeavesItToThoseThatCanGoOn) {
  using Told = std::map<int64_t, Order::Kind>;
  EXPECT_EQ(ToldWhereTheBestEnds(15), (Told{{0, Order::Kind::kResume}, {1, Order::Kind::kStop}}));
  EXPECT_EQ(ToldWhereTheBestEnds(14), (Told{{0, Order::Kind::kStop}, {1, Order::Kind::kStop}}))
      << "a sweep of an older build";
}

TEST(ControllerOrders, AnExploitingTrialGoesOnFromTheSourcesCheckpointWhichIsKeptForIt) {
  ExploitingSweep sweep;
  ControllerWorld& world = sweep.world;
  EXPECT_EQ(world.Running(sweep.worker).at(kSecond).start.checkpoint_path,
            "/artifacts/sweep/0/checkpoint_1");
  ASSERT_EQ(world.exploits.size(), 1u);
  EXPECT_EQ(world.exploits[0].source, kFirst);
  EXPECT_NE(world.exploits[0].configuration, world.configurations.at(kFirst));  // Near it.
  EXPECT_EQ(world.exploits[0].source_iteration, 1);
  world.Apply({StopRequested{kFirst, true}});
  EXPECT_TRUE(world.removed.empty());
}

// So that one which only goes on insists on the configuration that it had.
TEST(ControllerOrders, TheCheckpointIsOfAnotherConfigurationUntilTheTrialHasOneOfItsOwn) {
  ExploitingSweep sweep;
  ControllerWorld& world = sweep.world;
  EXPECT_TRUE(world.Running(sweep.worker).at(kSecond).start.has_other_config);
  world.Apply({world.End(sweep.worker, kSecond, Outcome::kPreempted)});  // Before it has one.
  WorkerId next = world.Join(1);
  ASSERT_TRUE(world.Running(next).contains(kSecond));
  EXPECT_TRUE(world.Running(next).at(kSecond).start.has_other_config);
  world.Apply({world.NextReport(next, kSecond, 0.5)});
  world.Apply({world.End(next, kSecond, Outcome::kPreempted)});
  next = world.Join(1);
  ASSERT_TRUE(world.Running(next).contains(kSecond));
  EXPECT_EQ(world.Running(next).at(kSecond).start.from_iteration, 2);
  EXPECT_FALSE(world.Running(next).at(kSecond).start.has_other_config);
}

// The second trial is at iteration 3 when it goes on from the first one's checkpoint of
// iteration 1.
TEST(ControllerOrders, AValueOfAnIterationThatComesAgainAfterAnExploitCountsOnceForTheBest) {
  Sweep sweep({Order::Kind::kExploit, kSecond, kFirst}, 2, 2, 3);
  ControllerWorld& world = sweep.world;
  const WorkerId worker = world.Join(1);
  const auto best = [&] { return world.controller().trials()[1]; };
  sweep.PauseAtOnce(worker, kFirst);
  world.Apply({world.NextReport(worker, kSecond, 0.5)});
  world.Apply({world.NextReport(worker, kSecond, 0.7)});
  sweep.PauseAtOnce(worker, kSecond);
  ASSERT_EQ(world.exploits.size(), 1u);
  EXPECT_EQ(best().row.best_value, 0.7);
  EXPECT_EQ(best().ConfigurationOfBest(), world.configurations.at(kSecond)) << "not the new one";
  ASSERT_EQ(world.Running(worker).at(kSecond).start.from_iteration, 1);
  world.Apply({world.NextReport(worker, kSecond, 0.9)});
  EXPECT_EQ(best().row.best_value, 0.9);
  EXPECT_EQ(best().row.best_iteration, 2);
  EXPECT_EQ(best().row.iterations, 3) << "what it has reached before";
  EXPECT_EQ(best().ConfigurationOfBest(), world.exploits[0].configuration);
  EXPECT_EQ(best().best_lineage, 1);
}

// What is trained again because checkpoints were damaged is not what the sweep would have had.
TEST(ControllerOrders, WhatComesBeforeTheTakenOverCheckpointDoesNotCountForTheBest) {
  ExploitingSweep sweep;
  ControllerWorld& world = sweep.world;
  while (world.Running(sweep.worker).at(kSecond).start.from_iteration > 0) {
    Event torn = world.End(sweep.worker, kSecond, Outcome::kCrashed, "it is torn");
    std::get<AttemptFinished>(torn).message.detail = EndDetail::kBadCheckpoint;
    world.Apply({torn});
  }
  world.Apply({world.NextReport(sweep.worker, kSecond, 0.9)});
  EXPECT_EQ(world.trials.at(kSecond).best_value, 0.5);
  world.Apply({world.NextReport(sweep.worker, kSecond, 0.8)});
  EXPECT_EQ(world.trials.at(kSecond).best_value, 0.8);
  EXPECT_EQ(world.trials.at(kSecond).best_iteration, 2);
}

TEST(ControllerOrders, RecoveryComesToTheSameOrders) {
  ExploitingSweep sweep;
  ControllerWorld& world = sweep.world;
  const Configuration changed = world.exploits.at(0).configuration;
  world.Recover();
  const TrialRecord& trial = world.controller().trials()[1];
  EXPECT_EQ(trial.configuration, changed);
  EXPECT_EQ(trial.resume_owner, kFirst);
}

}  // namespace
}  // namespace tune
