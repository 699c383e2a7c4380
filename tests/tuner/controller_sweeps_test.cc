// Several sweeps on one pool of workers: who is given what, and that none of them feels the others'
// ends, stops and lives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "tests/tuner/head_world.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using testing::HeadWorld;

ExperimentSpec SpecOf(int64_t samples, int64_t cpus = 1) {
  ExperimentSpec spec = HeadWorld::MakeSpec(samples);
  spec.resources.cpu_milli = cpus * kWholeMilli;
  return spec;
}

TEST(ControllerSweeps, TwoShareAMachineInHalves) {
  HeadWorld world;
  const ExperimentId first = world.Open(SpecOf(50));
  const ExperimentId second = world.Open(SpecOf(50));
  world.Join(8);
  EXPECT_EQ(world.RunningOf(first), 4);
  EXPECT_EQ(world.RunningOf(second), 4);
}

TEST(ControllerSweeps, WhoComesLaterGetsItsShareAsPlacesBecomeFree) {
  HeadWorld world;
  world.Join(4);
  const ExperimentId first = world.Open(SpecOf(50));
  EXPECT_EQ(world.RunningOf(first), 4);
  const ExperimentId second = world.Open(SpecOf(50));
  EXPECT_EQ(world.RunningOf(second), 0) << "nothing is taken from those that run";
  for (int i = 0; i < 40; ++i) {
    const auto runs = world.Runs();
    world.Advance(runs[static_cast<size_t>(i) % runs.size()].first,
                  runs[static_cast<size_t>(i) % runs.size()].second);
  }
  EXPECT_EQ(world.RunningOf(first), 2);
  EXPECT_EQ(world.RunningOf(second), 2);
}

TEST(ControllerSweeps, WeightsDivideAndPrioritiesGoFirst) {
  HeadWorld weighted;
  const ExperimentId light = weighted.Open(SpecOf(50), {0, 100});
  const ExperimentId heavy = weighted.Open(SpecOf(50), {0, 200});
  weighted.Join(6);
  EXPECT_EQ(weighted.RunningOf(light), 2);
  EXPECT_EQ(weighted.RunningOf(heavy), 4);

  HeadWorld ranked;
  const ExperimentId later = ranked.Open(SpecOf(50), {0, 100});
  const ExperimentId urgent = ranked.Open(SpecOf(5), {1, 100});
  ranked.Join(6);
  EXPECT_EQ(ranked.RunningOf(urgent), 5);
  EXPECT_EQ(ranked.RunningOf(later), 1);
}

TEST(ControllerSweeps, AlsoTheLeastUrgentComesToItsTurnWithTime) {
  HeadWorld world;
  const ExperimentId urgent = world.Open(SpecOf(100'000), {2, 100});
  const ExperimentId later = world.Open(SpecOf(1), {0, 100});
  world.Join(1);
  for (int i = 0; i < 4000 && world.RunningOf(later) == 0; ++i) {
    const auto runs = world.Runs();
    world.Advance(runs.front().first, runs.front().second);
    world.now = world.now + Seconds(1);
  }
  EXPECT_EQ(world.RunningOf(later), 1);
  EXPECT_FALSE(world.stored.at(urgent).ended);
}

// Without the claim a machine is never empty beside a sweep of small trials.
TEST(ControllerSweeps, ALargeTrialBesideSmallOnesBeginsWithinAWhile) {
  HeadWorld world;
  const ExperimentId small = world.Open(SpecOf(100'000));
  world.Join(4);
  world.Join(4);
  const ExperimentId large = world.Open(SpecOf(1, 4));
  const Instant begin = world.now;
  for (int i = 0; i < 20'000 && world.RunningOf(large) == 0; ++i) {
    const auto runs = world.Runs();
    // Not in step: there is always another one that runs.
    const auto& run = runs[static_cast<size_t>(i * 7) % runs.size()];
    world.Advance(run.first, run.second);
    world.now = world.now + Seconds(1);
  }
  ASSERT_EQ(world.RunningOf(large), 1);
  EXPECT_LT(world.now - begin, Seconds(150));
  EXPECT_GE(world.RunningOf(small), 3) << "one machine alone was kept";
  EXPECT_FALSE(world.controller().giver().claimant().has_value());
}

TEST(ControllerSweeps, OneThatEndsLeavesTheWorkersToTheOthers) {
  HeadWorld world;
  const WorkerId worker = world.Join(2, "remote");
  const ExperimentId first = world.Open(SpecOf(2));
  const ExperimentId second = world.Open(SpecOf(20));
  EXPECT_TRUE(world.workers.at(worker).knows.contains(first));
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(first).ended, ExperimentStatus::kFinished);
  EXPECT_EQ(world.stored.at(second).ended, ExperimentStatus::kFinished);
  EXPECT_TRUE(world.workers.at(worker).knows.empty()) << "it was told that they are over";
  EXPECT_TRUE(world.sent_home.empty());
  const ExperimentId third = world.Open(SpecOf(2));
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(third).ended, ExperimentStatus::kFinished);
}

TEST(ControllerSweeps, WithoutAHeadTheWorkersGoHomeWithTheLast) {
  HeadWorld world({std::nullopt, true});
  world.Join(2);
  world.Open(SpecOf(2));
  world.Open(SpecOf(4));
  world.RunToEnd();
  EXPECT_EQ(world.sent_home.size(), 1U);
}

TEST(ControllerSweeps, ALostWorkerIsLostToAllWhoHadTrialsThere) {
  HeadWorld world;
  const WorkerId gone = world.Join(2, "gone");
  const ExperimentId first = world.Open(SpecOf(3));
  const ExperimentId second = world.Open(SpecOf(3));
  EXPECT_EQ(world.RunningOf(first), 2);
  world.Advance(gone, world.Runs().front().second);
  world.workers.at(gone).is_connected = false;
  world.Apply({HeadEvent{WorkerGone{gone, Departure::kSilent}}});
  world.workers.erase(gone);
  EXPECT_EQ(world.stored.at(first).trials.at(TrialNumber{0}).status, TrialStatus::kPending);
  world.Join(2);
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(first).ended, ExperimentStatus::kFinished);
  EXPECT_EQ(world.stored.at(second).ended, ExperimentStatus::kFinished);
  world.ExpectStreamLeadsToRows(first);
  world.ExpectStreamLeadsToRows(second);
}

TEST(ControllerSweeps, AWorkerThatCannotRunOneRunsTheOthers) {
  HeadWorld world;
  const WorkerId lacking = world.Join(4, "lacking");
  const ExperimentId first = world.Open(SpecOf(2));
  const ExperimentId second = world.Open(SpecOf(8));
  EXPECT_EQ(world.RunningOf(first), 2);
  // What it has of that sweep it gives back, and stays.
  world.Apply({HeadEvent{WorkerUnfit{lacking, {first, "HF_TOKEN is not set"}}}});
  for (const auto& [worker, epoch] : world.Runs()) {
    if (world.workers.at(worker).running.at(epoch).start.ref.sweep == first) {
      world.End(worker, epoch, Outcome::kPreempted);
    }
  }
  EXPECT_EQ(world.RunningOf(first), 0);
  EXPECT_EQ(world.RunningOf(second), 4) << "it is not drained";
  EXPECT_THAT(world.stored.at(first).said,
              ::testing::ElementsAre(
                  ::testing::HasSubstr("worker w1 gets no trials of it: HF_TOKEN is not set"),
                  ::testing::HasSubstr("w1 cannot run it: HF_TOKEN is not set; waiting")));
  world.RunToEnd(100'000, /*may_be_left=*/true);
  EXPECT_EQ(world.stored.at(second).ended, ExperimentStatus::kFinished);
  EXPECT_FALSE(world.stored.at(first).ended);
  world.Join(2, "fit");
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(first).ended, ExperimentStatus::kFinished);
  world.ExpectStreamLeadsToRows(first);
}

TEST(ControllerSweeps, AWorkerThatCouldNotRunOneMayTryItAgain) {
  HeadWorld world;
  const WorkerId lacking = world.Join(4, "lacking");
  const ExperimentId sweep = world.Open(SpecOf(2));
  const auto be_unfit = [&] {
    world.Apply({HeadEvent{WorkerUnfit{lacking, {sweep, "there is no folder /data"}}}});
    for (const auto& [worker, epoch] : world.Runs()) {
      world.End(worker, epoch, Outcome::kPreempted);
    }
  };
  be_unfit();
  EXPECT_EQ(world.RunningOf(sweep), 0);
  world.Apply({HeadEvent{WorkerUnfit{lacking, {sweep, ""}}}});
  EXPECT_EQ(world.RunningOf(sweep), 2);
  be_unfit();
  EXPECT_EQ(world.RunningOf(sweep), 0);
  const auto& said = world.stored.at(sweep).said;
  EXPECT_EQ(std::count_if(said.begin(), said.end(),
                          [](const std::string& line) {
                            return line.find("gets no trials of it") != std::string::npos;
                          }),
            1)
      << "the same is said once";
  world.Apply({HeadEvent{WorkerUnfit{lacking, {sweep, ""}}}});
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(sweep).ended, ExperimentStatus::kFinished);
  world.ExpectStreamLeadsToRows(sweep);
}

// It was unfit, gave its trial back and tried again, all while it was away: the ends come last.
TEST(ControllerSweeps, AWorkerThatWasUnfitWhileItWasAwayIsNotTakenForOneThatLeaves) {
  HeadWorld world;
  const ExperimentId sweep = world.Open(SpecOf(2));
  const WorkerId before = world.Join(1, "away");
  const LeaseEpoch held = world.Runs().front().second;
  world.Break(before);
  const WorkerId worker = world.ComeBack(before);
  world.Apply({HeadEvent{WorkerUnfit{worker, {sweep, ""}}}});
  world.End(worker, held, Outcome::kPreempted);
  EXPECT_TRUE(world.sent_home.empty());
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(sweep).ended, ExperimentStatus::kFinished);
}

TEST(ControllerSweeps, AWorkerIsToldOfNoMoreSweepsThanOneMessageHolds) {
  HeadWorld world;
  std::vector<ExperimentId> sweeps;
  for (int i = 0; i < 6; ++i) {
    ExperimentSpec spec = SpecOf(2);
    spec.trainable = Value(std::string(3 << 20, 'x'));
    sweeps.push_back(world.Open(spec));
  }
  const WorkerId worker = world.Join(1);
  EXPECT_LT(world.workers.at(worker).knows.size() * 3, limits::kMessageBytesMax >> 20);
  world.RunToEnd();
  for (const ExperimentId sweep : sweeps) {
    EXPECT_EQ(world.stored.at(sweep).ended, ExperimentStatus::kFinished) << "told of it in time";
  }
}

TEST(ControllerSweeps, ACommandIsOneSweepsAlone) {
  HeadWorld world;
  world.Join(4);
  const ExperimentId first = world.Open(SpecOf(20));
  const ExperimentId second = world.Open(SpecOf(20));
  world.Apply({HeadEvent{PauseRequested{}, second}});
  EXPECT_FALSE(world.controller().At(first).sweep.is_paused());
  EXPECT_TRUE(world.controller().At(second).sweep.is_paused());
  world.Apply({HeadEvent{StopRequested{std::nullopt, true}, first}});
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(first).ended, ExperimentStatus::kStopped);
  EXPECT_FALSE(world.stored.at(second).ended);
  world.Apply({HeadEvent{UnpauseRequested{}, second}});
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(second).ended, ExperimentStatus::kFinished);
}

TEST(ControllerSweeps, AStoppedSweepDoesNotSendAwayWhatOthersHaveOnAnAbsentWorker) {
  HeadWorld world;
  const WorkerId away = world.Join(2, "away");
  const ExperimentId first = world.Open(SpecOf(1));
  const ExperimentId second = world.Open(SpecOf(1));
  ASSERT_EQ(world.RunningOf(second), 1);
  world.Break(away);
  world.Apply({HeadEvent{StopRequested{std::nullopt, true}, first}});
  EXPECT_EQ(world.stored.at(first).ended, ExperimentStatus::kStopped);
  const WorkerId back = world.ComeBack(away);
  EXPECT_EQ(world.RunningOf(first), 0) << "it is over";
  EXPECT_EQ(world.RunningOf(second), 1);
  EXPECT_EQ(world.controller().cluster().leases().Views().front().free_cpu_milli, kWholeMilli);
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(second).trials.at(TrialNumber{0}).attempts, 1);
  EXPECT_EQ(world.stored.at(second).ended, ExperimentStatus::kFinished);
  EXPECT_TRUE(world.workers.contains(back));
}

TEST(ControllerSweeps, AQueueOfOneThatWasAloneTakesNothingOfTheOthers) {
  HeadWorld world;
  world.pace = Duration{100};
  const WorkerId worker = world.Join(3);
  ExperimentSpec two_at_a_time = SpecOf(60);
  two_at_a_time.limits.max_concurrent = 2;
  const ExperimentId alone = world.Open(two_at_a_time);
  world.RunToEnd(60, /*may_be_left=*/true);
  ASSERT_FALSE(world.workers.at(worker).ahead.empty()) << "short trials have leases ahead";
  const ExperimentId second = world.Open(SpecOf(60));
  EXPECT_EQ(world.RunningOf(second), 0) << "a machine with a queue is its sweep's, for a moment";
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(alone).ended, ExperimentStatus::kFinished);
  EXPECT_EQ(world.stored.at(second).ended, ExperimentStatus::kFinished);
  world.ExpectStreamLeadsToRows(alone);
  world.ExpectStreamLeadsToRows(second);
}

TEST(ControllerSweeps, AWorkerThatCannotRunASweepGetsNoneOfItsLeasesAhead) {
  HeadWorld world;
  world.pace = Duration{100};
  const WorkerId worker = world.Join(3);
  const ExperimentId sweep = world.Open(SpecOf(60));
  world.RunToEnd(60, /*may_be_left=*/true);
  HeadWorld::Worker& books = world.workers.at(worker);
  ASSERT_FALSE(books.ahead.empty()) << "short trials have leases ahead";
  std::vector<HeadEvent> events{{WorkerUnfit{worker, {sweep, "there is no folder /data"}}}};
  for (const StartAttempt& start : std::exchange(books.ahead, {})) {
    ++books.ends;
    events.push_back({AttemptFinished{worker, {start.ref, Outcome::kPreempted, ""}}});
  }
  world.Apply(events);
  EXPECT_FALSE(books.running.empty());
  EXPECT_TRUE(books.ahead.empty()) << "it would give them back at once";
  world.Apply({HeadEvent{WorkerUnfit{worker, {sweep, ""}}}});
  EXPECT_FALSE(books.ahead.empty());
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(sweep).ended, ExperimentStatus::kFinished);
  world.ExpectStreamLeadsToRows(sweep);
}

TEST(ControllerSweeps, AHeadThatDiedGoesOnWithAllOfThem) {
  HeadWorld world;
  const WorkerId remote = world.Join(2, "remote");
  world.Join(2);
  const ExperimentId first = world.Open(SpecOf(10));
  const ExperimentId second = world.Open(SpecOf(10));
  world.RunToEnd(7, /*may_be_left=*/true);
  world.Restart();
  EXPECT_EQ(world.Runs().size(), 0U) << "the local ones are gone, the other is not heard yet";
  const WorkerId back = world.ComeBack(remote);
  EXPECT_EQ(world.workers.at(back).running.size(), 2U) << "it keeps what it ran";
  world.Join(2);
  world.RunToEnd();
  for (const ExperimentId id : {first, second}) {
    EXPECT_EQ(world.stored.at(id).ended, ExperimentStatus::kFinished);
    world.ExpectStreamLeadsToRows(id);
  }
}

// A head may have ten thousand of them, and a thousand workers that come and go.
TEST(ControllerSweeps, AWorkerCostsNothingToASweepThatHasNoAttemptThere) {
  HeadWorld world;
  const WorkerId busy = world.Join(2, "busy");
  const ExperimentId running = world.Open(SpecOf(2, /*cpus=*/2));
  std::vector<ExperimentId> waiting;
  std::vector<size_t> steps;
  for (int i = 0; i < 5; ++i) {
    waiting.push_back(world.Open(SpecOf(2, /*cpus=*/2)));
    steps.push_back(world.stored.at(waiting.back()).streams.size());
  }
  const WorkerId small = world.Join(1, "small");
  world.Apply({HeadEvent{WorkerDrainRequested{small}}});
  world.Break(small);
  EXPECT_THAT(world.said, ElementsAre("worker w2 is lost: its connection broke"));
  world.Break(busy);
  const WorkerId back = world.ComeBack(busy);
  for (size_t i = 0; i < waiting.size(); ++i) {
    EXPECT_EQ(world.stored.at(waiting[i]).streams.size(), steps[i]);
    EXPECT_TRUE(world.stored.at(waiting[i]).workers.empty());
  }
  EXPECT_EQ(world.stored.at(running).workers.at(small).state, WorkerState::kLost)
      << "one of the sweeps has the rows of all";
  EXPECT_EQ(world.stored.at(running).workers.at(back).state, WorkerState::kAlive);
  world.RunToEnd();
  for (const ExperimentId id : waiting) {
    EXPECT_EQ(world.stored.at(id).ended, ExperimentStatus::kFinished);
    EXPECT_EQ(world.stored.at(id).workers.at(back).state, WorkerState::kLeft);
    EXPECT_FALSE(world.stored.at(id).workers.contains(small));
    world.ExpectStreamLeadsToRows(id);
  }
}

TEST(ControllerSweeps, AHeadThatDiedKnowsAWorkerThatIsToLeaveThoughNothingRanThere) {
  HeadWorld world;
  world.Join(2, "busy");
  const ExperimentId first = world.Open(SpecOf(1, /*cpus=*/2));
  const ExperimentId second = world.Open(SpecOf(50, /*cpus=*/2));
  const WorkerId small = world.Join(1, "small");
  world.Apply({HeadEvent{WorkerDrainRequested{small}}});
  // Until the sweep that had its row is over.
  while (!world.stored.at(first).ended) {
    const auto [worker, epoch] = world.Runs().front();
    world.Advance(worker, epoch);
  }
  EXPECT_EQ(world.stored.at(second).workers.at(small).state, WorkerState::kDraining);
  world.Restart();
  const WorkerId back = world.ComeBack(small);
  EXPECT_TRUE(world.sent_home.contains(back));
}

TEST(ControllerSweeps, ASweepThatGoesOnHasTheRowsOfItsWorkersAsTheyAreNow) {
  HeadWorld world;
  const WorkerId worker = world.Join(1, "remote");
  const ExperimentId first = world.Open(SpecOf(5));
  world.Apply({HeadEvent{InterruptRequested{}, first}});
  world.RunToEnd();
  ASSERT_EQ(world.stored.at(first).ended, ExperimentStatus::kInterrupted);
  ASSERT_EQ(world.stored.at(first).workers.at(worker).state, WorkerState::kLeft);
  const ExperimentId other = world.Open(SpecOf(20));
  ASSERT_EQ(world.RunningOf(other), 1) << "the worker has no room for another";
  HeadWorld::Stored stored = world.stored.at(first);
  stored.ended.reset();
  const ExperimentId taken = world.TakeUp(stored);
  EXPECT_EQ(world.stored.at(taken).workers.at(worker).state, WorkerState::kAlive);
  world.RunToEnd(3, /*may_be_left=*/true);
  world.Restart();
  world.ComeBack(worker);
  world.RunToEnd();
  EXPECT_EQ(world.stored.at(other).ended, ExperimentStatus::kFinished);
  EXPECT_EQ(world.stored.at(taken).ended, ExperimentStatus::kFinished);
}

// Its tuner was another one, which is dead: what ran there is over, free of charge.
TEST(ControllerSweeps, ASweepOfAnotherTunerIsTakenUpByALivingHead) {
  HeadWorld other;
  other.Join(2);
  const ExperimentId id = other.Open(SpecOf(6));
  other.RunToEnd(4, /*may_be_left=*/true);

  HeadWorld head;
  head.Join(1);
  const ExperimentId own = head.Open(SpecOf(2));
  ASSERT_EQ(own, id) << "the test gives them numbers of its own";
  const ExperimentId taken = head.TakeUp(other.stored.at(id));
  head.RunToEnd();
  EXPECT_EQ(head.stored.at(own).ended, ExperimentStatus::kFinished);
  EXPECT_EQ(head.stored.at(taken).ended, ExperimentStatus::kFinished);
  EXPECT_EQ(head.stored.at(taken).trials.size(), 6U);
  head.ExpectStreamLeadsToRows(taken);
}

}  // namespace
}  // namespace tune
