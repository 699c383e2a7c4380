// The book against an engine that is late, answers twice, fails or never does, in virtual time.
#include "tuner/engines/pool_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/tuner/engines/pool_world.h"

namespace tune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(PoolOrders, OfSeveralLooksAreOnesThatAskForAllOfThem) {
  const ClusterSpec cluster = Cluster();
  PoolBook book(cluster, "tune-lab-1");
  PoolOrders held = book.Look({Trials(4)}, {}, Instant{1'000'000});
  EXPECT_TRUE(held.list[0]);
  book.OnListed(0, std::vector<Machine>(), Instant{1'000'000});
  for (int i = 2; i < 1000; ++i) held.Append(book.Look({Trials(4)}, {}, Instant{i * 1'000'000}));
  EXPECT_THAT(held.ask[0], SizeIs(2));
  EXPECT_THAT(held.give_back, SizeIs(1));
  book.Close(/*at_once=*/true);
  held.Append(book.Look({}, {}, Instant{1'000'000'000}));
  EXPECT_TRUE(held.call_off);
  EXPECT_TRUE(held.is_changed);
}

TEST(PoolBook, WorkersAreAskedForAtOnceAndComeAndGoAfterTheyWereIdle) {
  World world(Cluster());
  world.work = 10;
  world.Run(5);
  EXPECT_EQ(world.machines.size(), 5u);
  world.Run(60);
  EXPECT_EQ(world.book().joined_count(0), 5);
  EXPECT_THAT(world.said, Contains(HasSubstr("tune-lab-1-p-1 joined, 30")));
  world.work = 0;
  world.Run(590);
  EXPECT_EQ(world.machines.size(), 5u);
  world.Run(60);
  EXPECT_THAT(world.machines, IsEmpty());
  EXPECT_THAT(world.book().requests(), IsEmpty());
  EXPECT_EQ(world.asked, 5);
  EXPECT_EQ(world.killed_busy, 0);
}

// dask's create and kill loop (dask-jobqueue 498, 190; pycmor 267): the work is there for less time
// than a worker takes to come, over and over.
TEST(PoolBook, WorkInBurstsShorterThanABootDoesNotFlap) {
  World world(Cluster());
  world.boot = Seconds(90);
  for (int burst = 0; burst < 40; ++burst) {
    world.work = 20;
    world.Run(20);
    world.work = 0;
    world.Run(40);
  }
  EXPECT_EQ(world.asked, 10);
  EXPECT_EQ(world.given_back, 0);
}

TEST(PoolBook, WorkThatRisesAndFallsByOneDoesNotFlap) {
  World world(Cluster());
  for (int i = 0; i < 200; ++i) {
    world.work = 8 + i % 3;
    world.Run(15);
  }
  EXPECT_LE(world.asked, 6);
  EXPECT_EQ(world.killed_busy, 0);
}

TEST(PoolBook, RequestThatNothingNeedsAnyMoreIsGivenBackBeforeItHasCome) {
  World world(Cluster());
  world.starts = false;
  world.work = 4;
  world.Run(10);
  EXPECT_THAT(world.machines, SizeIs(2));
  world.work = 0;
  world.Run(620);
  EXPECT_THAT(world.machines, IsEmpty());
  EXPECT_THAT(world.book().requests(), IsEmpty());
}

TEST(PoolBook, RequestThatIsNeverStartedIsWaitedForWithTheEnginesReason) {
  World world(Cluster());
  world.starts = false;
  world.work = 4;
  world.Run(3600);
  EXPECT_EQ(world.asked, 2);
  for (const auto& [name, request] : world.book().requests()) {
    EXPECT_EQ(request.state, RequestState::kRequested);
    EXPECT_EQ(request.reason, "why");
  }
}

TEST(PoolBook, WorkerThatNeverJoinsIsGivenUpWithTheEndOfItsLogAndThePoolRests) {
  World world(Cluster());
  world.joins = false;
  world.work = 2;
  world.Run(125);
  const PoolRecord& pool = world.book().pools()[0];
  ASSERT_THAT(pool.failed, SizeIs(1));
  EXPECT_THAT(pool.failed[0].why,
              HasSubstr("has not joined within 2 min 00 s; its last line: no route"));
  EXPECT_THAT(pool.failed[0].log, ::testing::ElementsAre("one", "no route"));
  EXPECT_EQ(pool.failures, 1);
  world.Run(3600);
  // Each try takes two minutes and a rest that doubles up to ten minutes.
  EXPECT_LE(world.asked, 10);
  EXPECT_LE(world.machines.size(), 1u);
  world.joins = true;
  world.Run(900);
  EXPECT_EQ(world.book().joined_count(0), 1);
  EXPECT_EQ(world.book().pools()[0].failures, 0);
}

TEST(PoolBook, TimeInWhichNobodyLookedMakesNoStartingWorkerLate) {
  World world(Cluster());
  world.joins = false;
  world.work = 2;
  world.Run(60);
  world.Suspend(8 * 3600);
  world.Run(50);
  EXPECT_THAT(world.book().pools()[0].failed, IsEmpty());
  world.Run(20);
  EXPECT_THAT(world.book().pools()[0].failed, SizeIs(1));
}

TEST(PoolBook, TimeInWhichNobodyLookedMakesNoWorkerThatIsAwayGone) {
  World world(Cluster());
  world.work = 2;
  world.Run(60);
  ASSERT_EQ(world.book().joined_count(0), 1);
  world.are_forgotten = true;
  world.Run(5);
  world.Suspend(8 * 3600);
  world.Run(5);
  world.are_forgotten = false;
  world.Run(5);
  EXPECT_EQ(world.book().joined_count(0), 1);
  EXPECT_EQ(world.given_back, 0);
  EXPECT_EQ(world.asked, 1);
}

TEST(PoolBook, RefusedRequestsMakeThePoolRestOnceForAllOfThem) {
  World world(Cluster());
  world.refusal = ResourceExhausted("the quota of 0 machines is reached");
  world.work = 20;
  world.Run(9);
  EXPECT_EQ(world.asked, 10);
  EXPECT_EQ(world.book().pools()[0].failures, 1);
  EXPECT_THAT(world.said, Contains(HasSubstr("the quota of 0 machines is reached; it is asked "
                                             "again in 10.0 s")));
  world.Run(3600);
  EXPECT_LE(world.asked, 110);
  world.refusal = OkStatus();
  world.Run(700);
  EXPECT_EQ(world.book().joined_count(0), 10);
}

TEST(PoolBook, NothingIsAskedOfAnEngineThatHasNotAnswered) {
  World world(Cluster());
  world.is_reachable = false;
  world.work = 4;
  world.Run(300);
  EXPECT_EQ(world.asked, 0);
  EXPECT_EQ(world.book().wanted().fates[0].why, "p rests for 1.0 s: no answer");
  world.is_reachable = true;
  world.Run(60);
  EXPECT_EQ(world.book().joined_count(0), 2);
}

TEST(PoolBook, EngineThatFallsSilentIsWaitedForAndNothingIsMadeTwice) {
  World world(Cluster());
  world.work = 4;
  world.Run(50);
  world.is_reachable = false;
  world.work = 12;
  world.Run(400);
  EXPECT_EQ(world.book().joined_count(0), 2);
  world.is_reachable = true;
  world.Run(700);
  EXPECT_EQ(world.book().joined_count(0), 6);
  EXPECT_EQ(world.machines.size(), 6u);
  EXPECT_EQ(world.asked_twice, 0);
}

TEST(PoolBook, EngineThatListsItsMachinesLateIsAskedForNoneTwiceAlsoByARestartedHead) {
  World world(Cluster());
  world.listed_after = Seconds(15);
  world.work = 4;
  world.Run(5);
  world.Restart();
  world.Run(60);
  EXPECT_EQ(world.asked, 2);
  EXPECT_EQ(world.book().pools()[0].failures, 0);
  EXPECT_EQ(world.book().joined_count(0), 2);
}

TEST(PoolBook, ClosingWaitsForMachinesThatTheEngineDoesNotListYet) {
  World world(Cluster());
  world.listed_after = Seconds(15);
  world.work = 4;
  world.Run(5);
  world.book().Close(true);
  world.Run(5);
  EXPECT_FALSE(world.book().IsEmpty());
  world.Run(120);
  EXPECT_TRUE(world.book().IsEmpty());
  EXPECT_THAT(world.machines, IsEmpty());
}

TEST(PoolBook, RestartedHeadFindsItsRequestsAndStartsNoneTwice) {
  World world(Cluster());
  world.boot = Seconds(100);
  world.work = 10;
  world.Run(10);
  world.Restart();
  world.Run(60);
  EXPECT_EQ(world.asked, 5);
  EXPECT_EQ(world.machines.size(), 5u);
  world.Run(60);
  EXPECT_EQ(world.book().joined_count(0), 5);
}

// The age of a worker that joins the restarted head is not the time that a new one would take.
TEST(PoolBook, RestartedHeadDoesNotTakeTheAgeOfAWorkerForTheTimeUntilANewOneJoins) {
  World world(Cluster());
  world.work = 2;
  world.Run(360);
  ASSERT_EQ(world.book().joined_count(0), 1);
  world.Restart();
  world.Run(5);
  EXPECT_EQ(world.book().joined_count(0), 1);
  EXPECT_FALSE(world.book().pools()[0].start);
  EXPECT_EQ(world.said.back(), "tune-lab-1-p-1 joined");
  world.takes = Seconds(10);
  world.work = 22;
  world.Run(5);
  EXPECT_EQ(world.asked, 11);
}

// Trials wait for the workers of the earlier life that are on their way back.
TEST(PoolBook, WorkersThatAreAwayCountAgainstTheMaximumAlsoForARestartedHead) {
  World world(Cluster());
  world.work = 200;
  world.Run(60);
  ASSERT_EQ(world.book().joined_count(0), 40);
  world.are_away = true;
  world.Restart();
  world.Run(30);
  EXPECT_EQ(world.asked, 40);
  EXPECT_EQ(world.book().joined_count(0), 0) << "they are not there";
  world.are_away = false;
  world.Run(5);
  EXPECT_EQ(world.book().joined_count(0), 40);
  EXPECT_EQ(world.asked, 40);
  world.are_away = true;
  world.Run(30);
  EXPECT_EQ(world.asked, 40);
}

TEST(PoolBook, WorkersThatAPersonTellsToLeaveHoldTheirPlacesUntilTheyHaveLeft) {
  World world(Cluster());
  world.work = 200;
  world.Run(60);
  world.are_told_to = true;
  world.Run(30);
  EXPECT_EQ(world.asked, 40);
}

TEST(PoolBook, WorkerThatWasAwayWhenItWasToldToLeaveIsToldAgain) {
  World world(Cluster());
  world.work = 2;
  world.Run(60);
  world.are_away = true;
  world.book().Close(false);
  world.Run(5);
  world.are_away = false;
  world.Run(30);
  EXPECT_TRUE(world.book().IsEmpty());
  EXPECT_THAT(world.machines, IsEmpty());
}

// A head is killed while a cloud is being asked, and tune cluster down comes at once.
TEST(PoolBook, ClosingOfARestartedBookGivesBackWhatAppearsLater) {
  World world(Cluster());
  world.answers = false;
  world.listed_after = Seconds(15);
  world.work = 2;
  world.Run(2);
  world.Restart();
  world.answers = true;
  world.book().Close(true);
  world.Run(8);
  EXPECT_FALSE(world.book().IsEmpty());
  world.Run(10);
  EXPECT_THAT(world.machines, IsEmpty());
  EXPECT_TRUE(world.book().IsEmpty());
}

TEST(PoolBook, WhatIsBeingGivenBackIsNotGivenBackAgainMeanwhile) {
  World world(Cluster());
  world.work = 2;
  world.Run(60);
  world.answers = false;
  world.book().Close(true);
  world.Run(300);
  EXPECT_EQ(world.return_calls, 1);
}

TEST(PoolBook, MachineOfOursThatNobodyRemembersIsTakenOnAndOthersAreLeftAlone) {
  World world(Cluster());
  world.machines["tune-lab-1-p-7"].made_at = world.now();
  world.work = 2;
  world.Run(60);
  EXPECT_EQ(world.asked, 0);
  EXPECT_EQ(world.book().joined_count(0), 1);
  world.work = 4;
  world.Run(60);
  EXPECT_TRUE(world.machines.contains("tune-lab-1-p-8"));
  EXPECT_FALSE(world.book().requests().contains("somebody-elses"));
}

TEST(PoolBook, WorkerWhoseMachineIsTakenAwayIsReplaced) {
  World world(Cluster());
  world.work = 4;
  world.Run(60);
  world.machines.erase("tune-lab-1-p-1");
  world.Run(60);
  EXPECT_EQ(world.book().joined_count(0), 2);
  EXPECT_EQ(world.asked, 3);
  EXPECT_EQ(world.book().pools()[0].failures, 0);
}

TEST(PoolBook, IdleWorkerWhoseConnectionBreaksKeepsItsMachineForAMinute) {
  World world(Cluster(", min: 2"));
  world.Run(60);
  ASSERT_EQ(world.book().joined_count(0), 2);
  world.are_forgotten = true;
  world.Run(30);
  EXPECT_EQ(world.book().joined_count(0), 0);
  EXPECT_TRUE(world.book().requests().at("tune-lab-1-p-1").is_away);
  world.are_forgotten = false;
  world.Run(5);
  EXPECT_EQ(world.book().joined_count(0), 2);
  EXPECT_EQ(world.said.back(), "tune-lab-1-p-2 is connected again");
  EXPECT_EQ(world.asked, 2);
  EXPECT_EQ(world.given_back, 0);
  world.are_forgotten = true;
  world.Run(65);
  EXPECT_EQ(world.given_back, 2);
  EXPECT_THAT(world.said, Contains("tune-lab-1-p-1 is gone"));
}

TEST(PoolBook, RoomOfAnIdleWorkerWhoseConnectionBrokeCountsAsOnItsWay) {
  World world(Cluster(", min: 2"));
  world.Run(60);
  world.are_forgotten = true;
  world.work = 6;
  world.Run(5);
  EXPECT_EQ(world.asked, 3);
  world.book().Close(/*at_once=*/false);
  world.Run(10);
  EXPECT_TRUE(world.book().IsEmpty());
}

// Its lease goes on for a while: the trial waits for that, and other trials for nothing.
TEST(PoolBook, WorkerThatIsAwayAndWhoseMachineHasEndedIsReplacedAtOnce) {
  World world(Cluster());
  world.work = 4;
  world.Run(200);
  EXPECT_EQ(world.asked, 2);
  world.are_away = true;
  world.machines["tune-lab-1-p-1"].state = MachineState::kEnded;
  world.Run(5);
  EXPECT_EQ(world.asked, 3);
  EXPECT_THAT(world.said, Contains(HasSubstr("p-1 is gone, and its machine")));
  world.are_away = false;
  world.Run(60);
  EXPECT_EQ(world.book().joined_count(0), 2);
  EXPECT_EQ(world.asked, 3);
  EXPECT_EQ(world.asked_twice, 0);
}

TEST(PoolBook, MachineThatEndsBeforeItsWorkerJoinedIsAFailureWithTheEnginesReason) {
  World world(Cluster());
  world.joins = false;
  world.work = 2;
  world.Run(5);
  world.machines.begin()->second.state = MachineState::kEnded;
  world.Run(8);
  ASSERT_THAT(world.book().pools()[0].failed, SizeIs(1));
  EXPECT_EQ(world.book().pools()[0].failed[0].why, "why");
}

TEST(PoolBook, ClosingDrainsGivesBackAndIsEmptyOnlyWhenTheEngineHasNothingLeft) {
  World world(Cluster());
  world.work = 4;
  world.Run(60);
  world.book().Close(false);
  EXPECT_FALSE(world.book().IsEmpty());
  world.is_reachable = false;
  world.Run(60);
  EXPECT_FALSE(world.book().IsEmpty());
  world.is_reachable = true;
  world.Run(60);
  EXPECT_TRUE(world.book().IsEmpty());
  EXPECT_THAT(world.machines, IsEmpty());
}

TEST(PoolBook, ClosingDoesNotWaitForTheLeaseOfAWorkerWhoseMachineIsGone) {
  World world(Cluster());
  world.work = 2;
  world.Run(60);
  world.are_away = true;
  world.machines["tune-lab-1-p-1"].state = MachineState::kEnded;
  world.book().Close(/*at_once=*/false);
  world.Run(10);
  EXPECT_TRUE(world.book().IsEmpty());
}

TEST(PoolBook, ClosingWaitsForWhatHasEndedAndCannotBeRemoved) {
  World world(Cluster());
  world.work = 2;
  world.Run(60);
  world.return_refusal = FailedPrecondition("may not delete");
  world.book().Close(/*at_once=*/true);
  world.machines["tune-lab-1-p-1"].state = MachineState::kEnded;
  world.Run(60);
  EXPECT_FALSE(world.book().IsEmpty());
  EXPECT_EQ(world.book().requests().at("tune-lab-1-p-1").reason, "may not delete");
  world.return_refusal = OkStatus();
  world.Run(60);
  EXPECT_TRUE(world.book().IsEmpty());
  EXPECT_THAT(world.machines, IsEmpty());
}

TEST(PoolBook, ClosingAtOnceWaitsForNoTrial) {
  World world(Cluster());
  world.work = 4;
  world.Run(60);
  world.book().Close(true);
  world.Run(3);
  EXPECT_THAT(world.machines, IsEmpty());
  EXPECT_TRUE(world.book().IsEmpty());
}

TEST(PoolBook, PoolThatIsNotInTheFileAnyMoreAndHasWorkersIsRefused) {
  World world(Cluster());
  world.work = 4;
  world.Run(60);
  const Value stored = world.book().Encode();
  const Result<Value> document = ParseYaml("pools: {other: {ssh: {hosts: [a]}}}\n");
  const Result<ClusterSpec> other = InterpretCluster(*document, "lab.yaml", "/");
  PoolBook book(*other, "tune-lab-1");
  EXPECT_EQ(book.Restore(stored, world.now()).message(),
            "the pool p is not in the file any more, and has 2 workers; put it back, tune cluster "
            "down gives them back");
  EXPECT_EQ(PoolBook(*other, "x").Restore(Value(3), world.now()).code(), StatusCode::kDataLoss);
}

// Its worker ends by itself when the head is gone, and whether it has cannot be looked at.
TEST(PoolBook, ClosingDoesNotWaitForeverForAHostThatIsNotReached) {
  const Result<Value> document =
      ParseYaml("pools: {p: {ssh: {hosts: [a, b]}, worker: {cpus: 2, gpus: 0}, max: 2}}\n");
  const ClusterSpec cluster = *InterpretCluster(*document, "lab.yaml", "/");
  PoolBook book(cluster, "tune-lab-1");
  const std::string name = "tune-lab-1-p-1";
  Instant now{1'000'000'000};
  book.OnListed(0, std::vector<Machine>{{name, MachineState::kRunning, "on b"}}, now);
  book.Close(true);
  const auto look = [&](double seconds) {
    for (const Instant end = now + Seconds(seconds); now < end; now = now + Seconds(1)) {
      const PoolOrders orders = book.Look({}, {}, now);
      if (!orders.give_back[0].empty()) {
        book.OnGivenBack(0, {name}, Unavailable("b: No route to host"), now);
      }
      if (!orders.list[0]) continue;
      Machine machine{name, MachineState::kRunning, "b: No route to host"};
      machine.is_reached = false;
      book.OnListed(0, std::vector<Machine>{machine}, now);
    }
  };
  look(20);
  EXPECT_FALSE(book.IsEmptyButUnreached(now));
  look(20);
  EXPECT_TRUE(book.IsEmptyButUnreached(now));
  EXPECT_FALSE(book.IsEmpty());
  book.OnListed(0, std::vector<Machine>{{name, MachineState::kRunning, "on b"}}, now);
  EXPECT_FALSE(book.IsEmptyButUnreached(now));
  book.OnListed(0, std::vector<Machine>{}, now);
  EXPECT_TRUE(book.IsEmpty());
}

// Slurm ends a job at its wall time; workers leave before, and not all at once.
TEST(PoolBook, WorkersOfSlurmLeaveBeforeTheirTimeIsOver) {
  const Result<Value> document =
      ParseYaml("pools: {p: {slurm: {time: 1h}, worker: {cpus: 2}, max: 40}}\n");
  World world(*InterpretCluster(*document, "lab.yaml", "/"));
  world.work = 16;
  world.Run(40);
  const std::set<std::string> first = [&world] {
    std::set<std::string> names;
    for (const auto& [name, vm] : world.machines) names.insert(name);
    return names;
  }();
  EXPECT_EQ(first.size(), 8u);
  world.Run(3600 - 180);
  int64_t left = 0;
  for (const std::string& name : first) left += world.machines.contains(name) ? 1 : 0;
  EXPECT_GT(left, 0);
  EXPECT_LT(left, 8);
  world.Run(90);
  for (const std::string& name : first) EXPECT_FALSE(world.machines.contains(name)) << name;
  EXPECT_EQ(world.book().joined_count(0), 8);
}

TEST(PoolBook, WorkersOfSlurmLeaveBeforeTheirTimeIsOverAlsoWithARestartedHead) {
  const Result<Value> document =
      ParseYaml("pools: {p: {slurm: {time: 1h}, worker: {cpus: 2}, max: 40}}\n");
  World world(*InterpretCluster(*document, "lab.yaml", "/"));
  world.work = 2;
  world.Run(60);
  world.Run(1800);
  world.Restart();
  world.Run(1600);
  EXPECT_TRUE(world.machines.contains("tune-lab-1-p-1"));
  world.Run(100);
  EXPECT_FALSE(world.machines.contains("tune-lab-1-p-1"));
}

// Its machine has been up for longer than `join_timeout`.
TEST(PoolBook, RestartedHeadGivesWorkersTheWholeTimeToJoinAgain) {
  World world(Cluster());
  world.work = 2;
  world.Run(360);
  world.are_forgotten = true;
  world.Restart();
  world.Run(100);
  EXPECT_THAT(world.book().pools()[0].failed, IsEmpty());
  world.are_forgotten = false;
  world.Run(5);
  EXPECT_EQ(world.book().joined_count(0), 1);
  EXPECT_EQ(world.asked, 1);
}

// Whatever an engine does, nothing is made twice, nobody's trial is ended, and in the end all that
// is wanted is there and all that is not is gone.
TEST(PoolBook, RandomEnginesComeToWhatIsWanted) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    World world(Cluster());
    KeyedRandom random(seed, "engines");
    for (int step = 0; step < 40; ++step) {
      world.work = static_cast<int64_t>(random.NextBelow(30));
      world.boot = Seconds(static_cast<double>(random.NextBelow(200)));
      world.is_reachable = random.NextBelow(4) != 0;
      world.starts = random.NextBelow(4) != 0;
      world.joins = random.NextBelow(4) != 0;
      world.refusal = random.NextBelow(5) == 0 ? ResourceExhausted("full") : OkStatus();
      if (random.NextBelow(6) == 0) world.Restart();
      if (random.NextBelow(4) == 0 && !world.machines.empty()) {
        world.machines.erase(world.machines.begin());
      }
      world.Run(static_cast<double>(1 + random.NextBelow(300)));
    }
    world.is_reachable = world.starts = world.joins = true;
    world.refusal = OkStatus();
    world.boot = Seconds(20);
    world.work = 24;
    world.Run(1500);
    EXPECT_EQ(world.book().joined_count(0), 12) << seed;
    world.work = 0;
    world.Run(1500);
    EXPECT_THAT(world.machines, IsEmpty()) << seed;
    EXPECT_EQ(world.asked_twice, 0) << seed;
    EXPECT_EQ(world.killed_busy, 0) << seed;
    EXPECT_LE(world.most, 40) << seed;
  }
}

}  // namespace
}  // namespace tune
