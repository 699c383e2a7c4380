// Which checkpoints stay in a worker's cache, and the leases that a connection holds.
#include "trial_runner/worker/checkpoint_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trial_runner/message_samples.h"
#include "trial_runner/held_leases.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CheckpointCopy Copy(const std::string& folder) { return {folder, "sha of " + folder}; }

TEST(CheckpointCache, OfATrialTheLatestStays) {
  CheckpointCache cache;
  EXPECT_THAT(cache.Add(Ref(0, 1, 1), "/t/0/1", Copy("/c/0/1")), IsEmpty());
  EXPECT_THAT(cache.Add(Ref(1, 1, 2), "/t/1/1", Copy("/c/1/1")), IsEmpty());
  EXPECT_THAT(cache.Add(Ref(0, 1, 1), "/t/0/2", Copy("/c/0/2")), ElementsAre("/c/0/1"));
  EXPECT_EQ(cache.Find("/t/0/1").folder, "");
  EXPECT_EQ(cache.Find("/t/0/2"), Copy("/c/0/2"));
  // Also when its attempt is over: another one may go on here.
  EXPECT_THAT(cache.Release(Ref(0, 1, 1)), IsEmpty());
  EXPECT_EQ(cache.Find("/t/0/2"), Copy("/c/0/2"));
}

TEST(CheckpointCache, WhatATrialGoesOnFromStaysUntilItHasOneOfItsOwn) {
  CheckpointCache cache;
  cache.Add(Ref(0, 1, 1), "/t/0/1", Copy("/c/0/1"));
  EXPECT_THAT(cache.Use(Ref(1, 2, 5), "/t/0/1", Copy("/c/0/1")), IsEmpty());
  EXPECT_THAT(cache.Add(Ref(0, 1, 1), "/t/0/2", Copy("/c/0/2")), IsEmpty());
  EXPECT_THAT(cache.Remove("/t/0/1"), IsEmpty());
  EXPECT_THAT(cache.Add(Ref(1, 2, 5), "/t/1/3", Copy("/c/1/3")), ElementsAre("/c/0/1"));
}

TEST(CheckpointCache, OrIsOver) {
  CheckpointCache cache;
  cache.Add(Ref(0, 1, 1), "/t/0/1", Copy("/c/0/1"));
  cache.Use(Ref(1, 2, 5), "/t/0/1", Copy("/c/0/1"));
  cache.Remove("/t/0/1");
  EXPECT_THAT(cache.Release(Ref(1, 2, 5)), ElementsAre("/c/0/1"));
  EXPECT_TRUE(cache.is_empty());
}

// It was removed between the look at it and the beginning of the attempt (seed 7500147296).
TEST(CheckpointCache, WhatAnAttemptIsToGoOnFromStaysWhileItIsLookedAt) {
  CheckpointCache cache;
  cache.Add(Ref(0, 1, 1), "/t/0/1", Copy("/c/0/1"));
  EXPECT_EQ(cache.Hold(Ref(1, 2, 5), "/t/0/1"), Copy("/c/0/1"));
  EXPECT_THAT(cache.Remove("/t/0/1"), IsEmpty());
  EXPECT_THAT(cache.Use(Ref(1, 2, 5), "/t/0/1", Copy("/c/0/1")), IsEmpty());
  EXPECT_THAT(cache.Release(Ref(1, 2, 5)), ElementsAre("/c/0/1"));
  EXPECT_EQ(cache.Hold(Ref(1, 3, 6), "/t/0/1").folder, "") << "nothing is here of it";
  EXPECT_TRUE(cache.is_empty());
}

TEST(CheckpointCache, WhatTheTunerRemovesGoes) {
  CheckpointCache cache;
  cache.Add(Ref(0, 1, 1), "/t/0/1", Copy("/c/0/1"));
  EXPECT_THAT(cache.Remove("/t/0/7"), IsEmpty());
  EXPECT_THAT(cache.Remove("/t/0/1"), ElementsAre("/c/0/1"));
  EXPECT_TRUE(cache.is_empty());
}

TEST(CheckpointCache, ADamagedCopyMakesRoomForTheNewOne) {
  CheckpointCache cache;
  cache.Add(Ref(0, 1, 1), "/t/0/1", Copy("/c/0/1"));
  EXPECT_THAT(cache.Use(Ref(0, 2, 3), "/t/0/1", Copy("/c/0/1-2")), ElementsAre("/c/0/1"));
  EXPECT_EQ(cache.Find("/t/0/1"), Copy("/c/0/1-2"));
}

TEST(CheckpointCache, TellsOfAllInTurn) {
  CheckpointCache cache;
  EXPECT_THAT(cache.TakeNext(2), IsEmpty());
  for (int64_t trial = 0; trial < 3; ++trial) {
    cache.Add(Ref(trial, 1, trial + 1), "/t/" + std::to_string(trial), Copy("/c"));
  }
  EXPECT_THAT(cache.TakeNext(2), ElementsAre("/t/0", "/t/1"));
  EXPECT_THAT(cache.TakeNext(2), ElementsAre("/t/2", "/t/0"));
  EXPECT_THAT(cache.TakeNext(9), ElementsAre("/t/1", "/t/2", "/t/0"));
}

// ---- the tuner's side

TEST(HeldLeases, AreThoseThatWereGivenUntilTheyEndOrAreTakenBack) {
  HeldLeases leases;
  leases.OnHeard(Hello{});
  leases.OnSent({Welcome{}});
  StartAttempt start;
  for (const AttemptRef& ref : {Ref(0, 1, 1), Ref(1, 1, 2), Ref(2, 1, 3)}) {
    start.ref = ref;
    leases.OnSent({start});
  }
  EXPECT_TRUE(leases.Holds(Ref(0, 1, 1)));
  EXPECT_FALSE(leases.Holds(Ref(0, 1, 2))) << "another lease of that trial";
  leases.OnHeard(AttemptEnded{Ref(0, 1, 1), Outcome::kCompleted, "", EndDetail::kNone});
  leases.OnSent({KillAttempt{Ref(1, 1, 2), true}, KillAttempt{Ref(2, 1, 3), false}});
  EXPECT_FALSE(leases.Holds(Ref(0, 1, 1)));
  EXPECT_FALSE(leases.Holds(Ref(1, 1, 2)));
  EXPECT_TRUE(leases.HasNotEnded(Ref(1, 1, 2)));
  EXPECT_FALSE(leases.HasNotEnded(Ref(0, 1, 1)));
  EXPECT_TRUE(leases.Holds(Ref(2, 1, 3))) << "it may save what it has";
  leases.OnHeard(AttemptEnded{Ref(1, 1, 2), Outcome::kPreempted, "", EndDetail::kNone});
  EXPECT_FALSE(leases.HasNotEnded(Ref(1, 1, 2)));
}

TEST(HeldLeases, WhatAWorkerClaimsCountsOnceTheTunerHasAnswered) {
  HeldLeases leases;
  Hello hello;
  hello.held = {{Ref(0, 1, 1), 1000, {}}, {Ref(1, 1, 2), 1000, {}}};
  leases.OnHeard(hello);
  EXPECT_FALSE(leases.Holds(Ref(0, 1, 1)));
  leases.OnSent({Welcome{}, KillAttempt{Ref(1, 1, 2), true}});
  EXPECT_TRUE(leases.Holds(Ref(0, 1, 1)));
  EXPECT_FALSE(leases.Holds(Ref(1, 1, 2)));
}

}  // namespace
}  // namespace tune
