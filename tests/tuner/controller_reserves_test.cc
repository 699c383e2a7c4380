// Sweeps with a reserve beside others on one pool of workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/tuner/head_world.h"
#include "tuner/queue_lines.h"

namespace tune {
namespace {

using testing::HeadWorld;

ExperimentSpec SpecOf(int64_t samples, int64_t cpus = 1, int64_t max_concurrent = 1000) {
  ExperimentSpec spec = HeadWorld::MakeSpec(samples);
  spec.resources.cpu_milli = cpus * kWholeMilli;
  spec.limits.max_concurrent = max_concurrent;
  return spec;
}

Share Reserving(int64_t cpus, int64_t priority = 0) {
  return {priority, 100, "", {cpus * kWholeMilli, 0}};
}

void AdvanceAll(HeadWorld& world, int times) {
  for (int i = 0; i < times; ++i) {
    const auto runs = world.Runs();
    const auto& run = runs[static_cast<size_t>(i * 7) % runs.size()];
    world.Advance(run.first, run.second);
  }
}

TEST(ControllerReserves, AReserveIsMetBeforeAHigherPriorityIsServed) {
  HeadWorld world;
  const ExperimentId urgent = world.Open(SpecOf(50), {5, 100});
  const ExperimentId reserved = world.Open(SpecOf(50), Reserving(2));
  world.Join(6);
  EXPECT_EQ(world.RunningOf(reserved), 2);
  EXPECT_EQ(world.RunningOf(urgent), 4);
}

TEST(ControllerReserves, PlacesThatBecomeFreeGoToTheReserveFirst) {
  HeadWorld world;
  world.Join(4);
  const ExperimentId first = world.Open(SpecOf(50), {5, 100});
  const ExperimentId reserved = world.Open(SpecOf(50), Reserving(3));
  EXPECT_EQ(world.RunningOf(reserved), 0) << "nothing is taken from those that run";
  AdvanceAll(world, 40);
  EXPECT_EQ(world.RunningOf(reserved), 3);
  EXPECT_EQ(world.RunningOf(first), 1);
}

// Its trials back off, so that it can take nothing now.
TEST(ControllerReserves, WhatIsReservedStaysFreeWhileItsTrialsBackOff) {
  HeadWorld world;
  ExperimentSpec spec = SpecOf(2);
  spec.failure.backoff = Seconds(30);
  spec.failure.backoff_max = Seconds(30);
  const ExperimentId reserved = world.Open(spec, Reserving(2));
  const WorkerId worker = world.Join(4);
  const ExperimentId other = world.Open(SpecOf(50));
  EXPECT_EQ(world.RunningOf(other), 2);
  for (const auto& [id, epoch] : world.Runs()) {
    if (world.workers.at(worker).running.at(epoch).start.ref.sweep == reserved) {
      world.End(id, epoch, Outcome::kCrashed);
    }
  }
  EXPECT_EQ(world.RunningOf(reserved), 0);
  EXPECT_EQ(world.RunningOf(other), 2) << "the two free places are held";
  const std::vector<std::string> queue = EncodeQueue(world.controller(), world.now, {});
  ASSERT_EQ(queue.size(), 2U);
  EXPECT_THAT(queue.front(), ::testing::HasSubstr("what is free is held for "));
  world.now = world.now + Seconds(31);
  world.Apply({HeadEvent{DeadlinePassed{}}});
  EXPECT_EQ(world.RunningOf(reserved), 2);
}

TEST(ControllerReserves, NothingIsHeldForTrialsThatCannotCome) {
  HeadWorld world;
  const ExperimentId small = world.Open(SpecOf(1), Reserving(4));
  const ExperimentId bounded = world.Open(SpecOf(50, 1, 1), Reserving(4));
  const ExperimentId other = world.Open(SpecOf(50));
  world.Join(8);
  EXPECT_EQ(world.RunningOf(small), 1);
  EXPECT_EQ(world.RunningOf(bounded), 1);
  EXPECT_EQ(world.RunningOf(other), 6);
  world.Apply({HeadEvent{PauseRequested{}, other}});
  const ExperimentId third = world.Open(SpecOf(50));
  EXPECT_EQ(world.RunningOf(third), 0);
  AdvanceAll(world, 60);
  EXPECT_GE(world.RunningOf(third), 6);
}

TEST(ControllerReserves, TwoThatReserveAllDoNotBlockEachOther) {
  HeadWorld world;
  world.Join(4);
  const ExperimentId other = world.Open(SpecOf(20));
  const ExperimentId wide = world.Open(SpecOf(3, 4), Reserving(4));
  const ExperimentId narrow = world.Open(SpecOf(6, 2), Reserving(4));
  world.RunToEnd();
  for (const ExperimentId id : {other, wide, narrow}) {
    EXPECT_EQ(world.stored.at(id).ended, ExperimentStatus::kFinished);
    world.ExpectStreamLeadsToRows(id);
  }
}

// A whole machine is gathered for it, however many small trials of others there are.
TEST(ControllerReserves, ALargeTrialWithAReserveNeedsNoClaim) {
  HeadWorld world;
  const ExperimentId small = world.Open(SpecOf(100'000));
  world.Join(4);
  const ExperimentId large = world.Open(SpecOf(1, 4), Reserving(4));
  const Instant begin = world.now;
  for (int i = 0; i < 1000 && world.RunningOf(large) == 0; ++i) AdvanceAll(world, 1);
  EXPECT_EQ(world.RunningOf(large), 1);
  EXPECT_EQ(world.RunningOf(small), 0);
  EXPECT_LT(world.now - begin, LeaseGiver::kPatience);
}

TEST(ControllerReserves, WhoHasWaitedVeryLongGoesBeforeAReserve) {
  HeadWorld world;
  world.Join(2);
  const ExperimentId endless = world.Open(SpecOf(100'000), Reserving(2));
  const ExperimentId later = world.Open(SpecOf(1));
  const Instant begin = world.now;
  for (int i = 0; i < 10'000 && world.RunningOf(later) == 0; ++i) {
    AdvanceAll(world, 1);
    world.now = world.now + Seconds(1);
  }
  EXPECT_EQ(world.RunningOf(later), 1);
  EXPECT_GE(world.now - begin, Seconds(3600));
  EXPECT_FALSE(world.stored.at(endless).ended);
}

TEST(ControllerReserves, AHeadThatDiedHoldsThemAgain) {
  HeadWorld world;
  world.Join(4);
  const ExperimentId reserved = world.Open(SpecOf(20), Reserving(3));
  const ExperimentId other = world.Open(SpecOf(20), {5, 100});
  AdvanceAll(world, 30);
  EXPECT_EQ(world.RunningOf(reserved), 3);
  world.Restart();
  world.Join(4);
  EXPECT_EQ(world.RunningOf(reserved), 3);
  world.RunToEnd();
  for (const ExperimentId id : {reserved, other}) {
    EXPECT_EQ(world.stored.at(id).ended, ExperimentStatus::kFinished);
    world.ExpectStreamLeadsToRows(id);
  }
}

}  // namespace
}  // namespace tune
