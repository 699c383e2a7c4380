// Machines on which programs fail: where a trial is tried again, and who is given no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tuner/controller_world.h"

namespace tune {
namespace {

using testing::ControllerWorld;

constexpr TrialNumber kFirst{0};
constexpr TrialNumber kSecond{1};
constexpr TrialNumber kThird{2};

ExperimentSpec Spec(int64_t samples, int64_t max_failures = 2) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(samples);
  spec.failure.max_failures = max_failures;
  return spec;
}

int64_t CountSaid(const ControllerWorld& world, const std::string& text) {
  return std::count_if(world.said.begin(), world.said.end(), [&](const std::string& line) {
    return line.find(text) != std::string::npos;
  });
}

Event Crash(ControllerWorld& world, WorkerId worker, TrialNumber trial) {
  return world.End(worker, trial, Outcome::kCrashed, "the program exited with status 3");
}

TEST(ControllerTurns, ARetryGoesToAnotherWorkerThanTheOneOnWhichTheTrialFailed) {
  ControllerWorld world(Spec(2));
  const WorkerId bad = world.JoinConnected(1, "a");
  const WorkerId good = world.JoinConnected(1, "b");
  ASSERT_TRUE(world.Running(bad).contains(kFirst));
  world.Apply({world.NextReport(good, kSecond, 0.3, true),
               world.End(good, kSecond, Outcome::kCompleted), Crash(world, bad, kFirst)});
  EXPECT_TRUE(world.Running(good).contains(kFirst));
  EXPECT_TRUE(world.Running(bad).empty());
}

TEST(ControllerTurns, ATrialThatFailedAtItsStartWaitsForAWorkerThatRunsTrialsWell) {
  ControllerWorld world(Spec(4));
  const WorkerId bad = world.JoinConnected(1, "a");
  const WorkerId good = world.JoinConnected(1, "b");
  world.Apply({world.NextReport(good, kSecond, 0.3)});
  world.Apply({Crash(world, bad, kFirst)});
  EXPECT_TRUE(world.Running(bad).contains(kThird)) << "another one has its turn there";
  world.Apply({world.NextReport(good, kSecond, 0.4, true)});
  world.Apply({world.End(good, kSecond, Outcome::kCompleted)});
  EXPECT_TRUE(world.Running(good).contains(kFirst));
  EXPECT_EQ(world.trials.at(kFirst).attempts, 2);
}

TEST(ControllerTurns, ATrialIsTriedAgainWhereItFailedOnceOthersReportThere) {
  ControllerWorld world(Spec(5));
  const WorkerId flaky = world.JoinConnected(2, "a");
  const WorkerId good = world.JoinConnected(1, "b");
  ASSERT_EQ(world.Running(flaky).size(), 2u);
  world.Apply({world.NextReport(good, kThird, 0.3)});
  world.Apply({Crash(world, flaky, kFirst)});
  EXPECT_TRUE(world.Running(flaky).contains(TrialNumber{3}));
  world.Apply({world.NextReport(flaky, kSecond, 0.3, true)});
  world.Apply({world.End(flaky, kSecond, Outcome::kCompleted)});
  EXPECT_TRUE(world.Running(flaky).contains(kFirst));
}

TEST(ControllerTurns, WhereNothingElseIsToDoATrialIsTriedAgainWhereItFailed) {
  ControllerWorld world(Spec(2));
  const WorkerId bad = world.JoinConnected(1, "a");
  const WorkerId good = world.JoinConnected(1, "b");
  world.Apply({world.NextReport(good, kSecond, 0.3)});
  world.Apply({Crash(world, bad, kFirst)});
  EXPECT_TRUE(world.Running(bad).contains(kFirst));
}

// Trial after trial of a new worker fails; what it has is given to it again at once.
int64_t CrashesUntilIdle(ControllerWorld& world, WorkerId worker) {
  int64_t count = 0;
  while (!world.Running(worker).empty() && count < 50) {
    world.Apply({Crash(world, worker, world.Running(worker).begin()->first)});
    ++count;
  }
  return count;
}

TEST(ControllerTurns, AWorkerWhoseFirstAttemptsAllFailIsGivenNoMoreWhileOthersReport) {
  ControllerWorld world(Spec(30));
  const WorkerId good = world.JoinConnected(1, "b");
  world.Apply({world.NextReport(good, kFirst, 0.3)});
  const WorkerId bad = world.JoinConnected(1, "a");
  EXPECT_EQ(CrashesUntilIdle(world, bad), 5);
  EXPECT_EQ(CountSaid(world, "worker w2 gets no more trials: the first 5 attempts on it failed"),
            1);
  for (const auto& [number, row] : world.trials) EXPECT_NE(row.status, TrialStatus::kError);
  // The other one goes on with what failed there.
  world.Apply({world.NextReport(good, kFirst, 0.5, true)});
  world.Apply({world.End(good, kFirst, Outcome::kCompleted)});
  EXPECT_TRUE(world.Running(good).contains(kSecond));
  EXPECT_EQ(world.trials.at(kSecond).attempts, 2);
}

TEST(ControllerTurns, AWorkerThatIsGivenNoMoreIsNeededWhereNoOtherIsLeft) {
  ControllerWorld world(Spec(30));
  const WorkerId good = world.JoinConnected(1, "b");
  world.Apply({world.NextReport(good, kFirst, 0.3)});
  const WorkerId bad = world.JoinConnected(1, "a");
  CrashesUntilIdle(world, bad);
  world.Apply({WorkerGone{good, Departure::kGoodbye}});
  EXPECT_FALSE(world.Running(bad).empty());
}

TEST(ControllerTurns, AWorkerAloneIsGivenAllThatFailsOnIt) {
  ControllerWorld world(Spec(3));
  const WorkerId alone = world.JoinConnected(1, "a");
  std::vector<TrialNumber> order;
  while (!world.Running(alone).empty()) {
    order.push_back(world.Running(alone).begin()->first);
    world.Apply({Crash(world, alone, order.back())});
  }
  const std::vector<TrialNumber> expected = {kFirst,  kFirst, kFirst, kSecond, kSecond,
                                             kSecond, kThird, kThird, kThird};
  EXPECT_EQ(order, expected);
  EXPECT_EQ(CountSaid(world, "gets no more trials"), 0);
}

}  // namespace
}  // namespace tune
