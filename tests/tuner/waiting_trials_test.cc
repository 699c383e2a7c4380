// Why trials wait, and who holds what, as a living tuner tells it.
#include "tuner/waiting_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/tuner/controller_world.h"

namespace tune::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr TrialNumber kFirst{0};
constexpr TrialNumber kSecond{1};

std::vector<std::string> Waiting(ControllerWorld& world, size_t lines_max = 100) {
  std::vector<std::string> lines;
  for (const std::string& line : EncodeWaiting(world.controller(), lines_max)) {
    const Value value = *ParseJson(line);
    const Value& trial = *value.Find("trial");
    lines.push_back(
        (trial.is_null() ? ToJson(*value.Find("count")) + " to come" : "trial " + ToJson(trial)) +
        ": " + value.Find("why")->AsString());
  }
  return lines;
}

TEST(WaitingTrials, RoomThatIsMissingIsToldWithWhatIsFree) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(5);
  spec.resources.cpu_milli = 2000;
  spec.resources.gpu_milli = 400;
  ControllerWorld world(spec);
  EXPECT_THAT(Waiting(world),
              ElementsAre("5 to come: it needs cpu: 2, gpu: 0.4, and no worker is there"));
  world.Join(5, 1);
  EXPECT_THAT(Waiting(world), ElementsAre("3 to come: there is no room now: it needs cpu: 2, gpu: "
                                          "0.4; w1 has 1 of 5 CPUs and 0.2 of its 1 GPU free"));
}

TEST(WaitingTrials, WorkersThatCouldNeverTakeATrialAreToldAsSuch) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(5);
  spec.resources.cpu_milli = 8000;
  ControllerWorld world(spec);
  world.Join(4);
  EXPECT_THAT(Waiting(world), ElementsAre("5 to come: can run on no worker that is there: it needs "
                                          "cpu: 8; w1 has 4 CPUs, 0 GPUs"));
}

TEST(WaitingTrials, ALimitABackoffAndAPauseAreTold) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(5);
  spec.limits.max_concurrent = 2;
  spec.failure.max_failures = 3;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(4);
  EXPECT_THAT(Waiting(world), ElementsAre("3 to come: limits.max_concurrent: 2 places of 2 taken"));
  world.now = world.now + Seconds(600);  // Trials that take long are not queued ahead.
  world.Apply({PauseRequested{kSecond, true}});
  world.Apply({world.End(worker, kSecond, Outcome::kPreempted)});
  EXPECT_THAT(Waiting(world), ElementsAre("trial 1: was paused by a person",
                                          "2 to come: limits.max_concurrent: 2 places of 2 taken"));
  world.Apply({PauseRequested{}});
  EXPECT_THAT(Waiting(world),
              ElementsAre("trial 1: was paused by a person", "2 to come: the sweep is paused"));
}

TEST(WaitingTrials, ATrialThatBacksOffIsToldUntilWhenAndKeepsItsPlace) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(3);
  spec.limits.max_concurrent = 1;
  spec.failure.max_failures = 3;
  spec.failure.backoff = Seconds(60);
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(4);
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed, "boom")});
  const TrialRecord& first = world.controller().trials().at(0);
  ASSERT_TRUE(first.retry_at.has_value());
  EXPECT_THAT(Waiting(world),
              ElementsAre("trial 0: backs off until " + FormatInstant(*first.retry_at) +
                              ": attempt 1 failed",
                          "2 to come: limits.max_concurrent: 1 place of 1 taken, 1 by trials that "
                          "back off"));
}

TEST(WaitingTrials, WhatRunsOrIsOverDoesNotWait) {
  ControllerWorld world(ControllerWorld::MakeSpec(1));
  const WorkerId worker = world.Join(4);
  EXPECT_THAT(Waiting(world), IsEmpty());
  world.Apply({world.NextReport(worker, kFirst, 0.5, true)});
  world.Apply({world.End(worker, kFirst, Outcome::kCompleted)});
  EXPECT_THAT(Waiting(world), IsEmpty());
}

TEST(WaitingTrials, NoMoreLinesAreToldThanAskedFor) {
  ControllerWorld world(ControllerWorld::MakeSpec(20));
  const WorkerId worker = world.Join(8);
  world.Apply({PauseRequested{std::nullopt, true}});
  for (int64_t i = 0; i < 8; ++i) {
    world.Apply({world.End(worker, TrialNumber{i}, Outcome::kPreempted)});
  }
  EXPECT_THAT(Waiting(world), SizeIs(9));
  EXPECT_THAT(Waiting(world, 4), SizeIs(4));
}

// The second one was heard of 2.35 s ago, and waits for its store.
std::vector<std::string> Workers(ControllerWorld& world) {
  const Instant now{5'000'000};
  return EncodeWorkers(world.controller(), now, [now](WorkerId worker) {
    return worker.value == 2 ? HeardOfWorker{Instant{now.us - Milliseconds(2350).us}, "its store"}
                             : HeardOfWorker();
  });
}

TEST(WaitingTrials, EachWorkerIsToldWithItsStateAndWhatIsBooked) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(3);
  spec.resources.cpu_milli = 1500;
  ControllerWorld world(spec);
  world.Join(4);
  const WorkerId other = world.JoinConnected(2, "session");
  EXPECT_THAT(
      Workers(world),
      ElementsAre(
          R"({"worker":"w1","address":"local","is_local":true,"state":"alive","cpus":4.0,)"
          R"("slices":[{"trial":0,"cpus":1.5},{"trial":1,"cpus":1.5}],"silent_seconds":null,"waits_for":null})",
          R"({"worker":"w2","address":"10.0.0.2:7","is_local":false,"state":"alive",)"
          R"("cpus":2.0,"slices":[{"trial":2,"cpus":1.5}],"silent_seconds":2.3,"waits_for":"its store"})"));
  world.Apply({WorkerDrainRequested{other}});
  EXPECT_THAT(Workers(world).at(1), ::testing::HasSubstr(R"("state":"draining")"));
  world.Break(other);
  EXPECT_THAT(Workers(world).at(1), ::testing::HasSubstr(R"("state":"away")"));
}

}  // namespace
}  // namespace tune::testing
