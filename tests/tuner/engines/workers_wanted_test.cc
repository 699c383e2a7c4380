#include "tuner/engines/workers_wanted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Instant kNow{1'000'000'000};
constexpr Duration kIdle = Seconds(600);

WorkerCapacity Capacity(int64_t cpus, int64_t gpus = 0) {
  WorkerCapacity capacity;
  capacity.cpu_milli = cpus * kWholeMilli;
  for (int64_t i = 0; i < gpus; ++i) capacity.devices.push_back({i, "", 0});
  return capacity;
}

PoolOffer Pool(const std::string& name, const WorkerCapacity& capacity, int64_t max,
               int64_t min = 0) {
  return {name, capacity, min, max, kIdle, std::nullopt};
}

ResourceRequest Needs(int64_t cpu_milli, int64_t gpu_milli = 0) {
  ResourceRequest request;
  request.cpu_milli = cpu_milli;
  request.gpu_milli = gpu_milli;
  return request;
}

JoinedWorker Joined(int64_t id, const std::string& name, const WorkerCapacity& capacity,
                    std::optional<Instant> unneeded_since = {}) {
  JoinedWorker worker;
  worker.name = name;
  worker.pool = 0;
  worker.view = EmptyWorker(WorkerId{id}, capacity);
  worker.unneeded_since = unneeded_since;
  return worker;
}

TEST(WorkersWanted, TrialsArePackedOntoAsFewWorkersAsHoldThem) {
  const auto wanted =
      WorkersWanted({{"a", Needs(1000), 20}}, {Pool("p", Capacity(8), 100)}, {}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(3));
  EXPECT_EQ(wanted.fates[0].waiting, 20);
  EXPECT_EQ(wanted.fates[0].placed, 20);
  EXPECT_EQ(wanted.fates[0].why, "");
}

TEST(WorkersWanted, SharesOfADevicePackAndTheRestOfAWorkerIsForOthers) {
  const auto wanted = WorkersWanted({{"a", Needs(1000, 500), 4}, {"b", Needs(1000), 4}},
                                    {Pool("p", Capacity(4, 1), 100)}, {}, {}, kNow);
  // Two workers have two halves each; of each two CPUs are left for b.
  EXPECT_THAT(wanted.ask, ElementsAre(2));
}

TEST(WorkersWanted, WhatIsFreeIsTakenBeforeAnythingIsAskedFor) {
  JoinedWorker busy = Joined(1, "p-1", Capacity(8));
  busy.is_busy = true;
  busy.view.free_cpu_milli = 3000;
  const auto wanted =
      WorkersWanted({{"a", Needs(1000), 5}}, {Pool("p", Capacity(8), 100)}, {}, {busy}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(1));
  EXPECT_EQ(wanted.fates[0].waiting, 2);
}

// As after the head was started again: what they run is theirs, the rest of their room comes back.
TEST(WorkersWanted, WorkersThatAreAwayCountAgainstTheMaximumAndTheirRoomIsOnItsWay) {
  JoinedWorker busy = Joined(1, "p-1", Capacity(4));
  busy.is_busy = busy.is_away = busy.view.is_draining = true;
  busy.view.free_cpu_milli = 1000;
  JoinedWorker empty = Joined(2, "p-2", Capacity(4), Instant{kNow.us - kIdle.us});
  empty.is_away = empty.view.is_draining = true;
  const std::vector<PoolOffer> pools = {Pool("p", Capacity(4), 2)};
  const auto wanted = WorkersWanted({{"a", Needs(1000), 8}}, pools, {}, {busy, empty}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(0));
  EXPECT_THAT(wanted.total, ElementsAre(2));
  EXPECT_EQ(wanted.fates[0].waiting, 8);
  EXPECT_EQ(wanted.fates[0].placed, 5);
  EXPECT_EQ(wanted.fates[0].why, "p has its max of 2");
  EXPECT_THAT(WorkersWanted({}, pools, {}, {busy, empty}, kNow).give_back, IsEmpty());
}

TEST(WorkersWanted, WhatWasAskedForAndHasNotComeCounts) {
  const std::vector<RequestedWorker> requested = {{"p-1", 0, {}}, {"p-2", 0, {}}};
  const auto wanted =
      WorkersWanted({{"a", Needs(1000), 20}}, {Pool("p", Capacity(8), 100)}, requested, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(1));
  EXPECT_THAT(wanted.unneeded, IsEmpty());
  EXPECT_EQ(wanted.fates[0].placed, 20);
}

TEST(WorkersWanted, FirstPoolThatCouldHoldItIsAskedFirstAndThenTheNext) {
  const auto wanted = WorkersWanted({{"a", Needs(4000, 1000), 3}, {"b", Needs(1000), 70}},
                                    {Pool("cpu", Capacity(4), 1), Pool("gpu", Capacity(4, 1), 2),
                                     Pool("big", Capacity(64, 8), 9)},
                                    {}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(1, 2, 2));
}

// A worker comes after 90 s; trials take 20 s.
TEST(WorkersWanted, WhatBeginsElsewhereBeforeAWorkerWouldComeAsksForNone) {
  PoolOffer pool = Pool("p", Capacity(2), 100);
  pool.start = Seconds(90);
  WorkerDemand demand{"a", Needs(1000), 20};
  demand.takes = Seconds(20);
  demand.running = 4;  // 18 begin in their places.
  const auto wanted = WorkersWanted({demand}, {pool}, {}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(1));
  EXPECT_EQ(wanted.fates[0].waiting, 20);
  EXPECT_EQ(wanted.fates[0].sooner, 18);
  EXPECT_EQ(wanted.fates[0].placed, 2);
  demand.running = 0;
  // Two are free: eight more behind them.
  EXPECT_THAT(WorkersWanted({demand}, {pool}, {}, {Joined(1, "p-1", Capacity(2))}, kNow).ask,
              ElementsAre(5));
  // Two come half a minute sooner than who is asked for now: two more behind them.
  RequestedWorker coming{"p-1", 0, {}, Instant{kNow.us - Seconds(30).us}};
  EXPECT_THAT(WorkersWanted({demand}, {pool}, {coming}, {}, kNow).ask, ElementsAre(8));
  // A request that has waited for a day gives no more places than a worker that is there.
  coming.asked_at = Instant{kNow.us - Seconds(86'400).us};
  EXPECT_THAT(WorkersWanted({demand}, {pool}, {coming}, {}, kNow).ask, ElementsAre(5));
  // Trials that turn out to be longer than a worker's start are not waited for.
  demand.running = 4;
  demand.takes = Seconds(1000);
  EXPECT_THAT(WorkersWanted({demand}, {pool}, {}, {}, kNow).ask, ElementsAre(10));
  // Of what nobody knows nothing is assumed.
  demand.takes.reset();
  EXPECT_THAT(WorkersWanted({demand}, {pool}, {}, {}, kNow).ask, ElementsAre(10));
  demand.takes = Seconds(20);
  pool.start.reset();
  EXPECT_THAT(WorkersWanted({demand}, {pool}, {}, {}, kNow).ask, ElementsAre(10));
}

TEST(WorkersWanted, MaxOfAPoolIsSaidWhereItHoldsThingsUp) {
  const auto wanted =
      WorkersWanted({{"a", Needs(1000), 20}}, {Pool("p", Capacity(8), 1)}, {}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(1));
  EXPECT_EQ(wanted.fates[0].placed, 8);
  EXPECT_EQ(wanted.fates[0].why, "p has its max of 1");
}

TEST(WorkersWanted, TrialThatNoPoolCanHoldIsSaid) {
  const auto wanted =
      WorkersWanted({{"a", Needs(16000), 1}}, {Pool("p", Capacity(8), 9)}, {}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(0));
  EXPECT_EQ(wanted.fates[0].why, "no pool's workers are large enough: a trial needs cpu: 16");
}

TEST(WorkersWanted, PoolThatRestsIsPassedOver) {
  PoolOffer resting = Pool("spot", Capacity(8), 9);
  resting.rests_until = kNow + Seconds(30);
  resting.why_it_rests = "no capacity";
  auto wanted = WorkersWanted({{"a", Needs(1000), 1}}, {resting}, {}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(0));
  EXPECT_EQ(wanted.fates[0].why, "spot rests for 30.0 s: no capacity");
  wanted =
      WorkersWanted({{"a", Needs(1000), 1}}, {resting, Pool("p", Capacity(8), 9)}, {}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(0, 1));
  wanted = WorkersWanted({{"a", Needs(1000), 1}}, {resting}, {}, {}, kNow + Seconds(30));
  EXPECT_THAT(wanted.ask, ElementsAre(1));
}

TEST(WorkersWanted, RanksOfATrialAreWantedTogetherOrNotAtAll) {
  ResourceRequest ranks = Needs(1000, 1000);
  ranks.workers = 4;
  ranks.spread = true;
  auto wanted = WorkersWanted({{"a", ranks, 2}}, {Pool("p", Capacity(8, 2), 3)}, {}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(2));  // A second trial's ranks would need a fourth worker.
  EXPECT_EQ(wanted.fates[0].placed, 1);
  ranks.spread = false;
  wanted = WorkersWanted({{"a", ranks, 2}}, {Pool("p", Capacity(8, 2), 3)}, {}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(0));
}

TEST(WorkersWanted, OneTrialIsCountedForAWorkerWhoseSizeIsNotKnown) {
  PoolOffer lab = Pool("lab", {}, 3);
  lab.capacity.reset();
  const auto wanted = WorkersWanted({{"a", Needs(1000), 2}}, {lab}, {}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(2));
}

TEST(WorkersWanted, WorkerOnWhichASweepCannotRunIsNoRoomForIt) {
  WorkerDemand demand{"a", Needs(1000), 1, {WorkerId{1}}};
  const auto wanted = WorkersWanted({demand}, {Pool("p", Capacity(8), 9)}, {},
                                    {Joined(1, "p-1", Capacity(8))}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(1));
}

TEST(WorkersWanted, IdleWorkerGoesAfterItsTimeAndTheOneThatWasIdleForLongestFirst) {
  const Instant long_ago{kNow.us - 2 * kIdle.us};
  const Instant ago{kNow.us - kIdle.us};
  const Instant lately{kNow.us - 1};
  const std::vector<JoinedWorker> joined = {
      Joined(1, "p-1", Capacity(8), ago), Joined(2, "p-2", Capacity(8), long_ago),
      Joined(3, "p-3", Capacity(8), lately), Joined(4, "p-4", Capacity(8))};
  auto wanted = WorkersWanted({}, {Pool("p", Capacity(8), 9)}, {}, joined, kNow);
  EXPECT_THAT(wanted.give_back, ElementsAre("p-2", "p-1"));
  EXPECT_THAT(wanted.unneeded, ElementsAre("p-1", "p-2", "p-3", "p-4"));
  wanted = WorkersWanted({}, {Pool("p", Capacity(8), 9, 3)}, {}, joined, kNow);
  EXPECT_THAT(wanted.give_back, ElementsAre("p-2"));
  // Work for two keeps those that were idle for the shortest time.
  wanted = WorkersWanted({{"a", Needs(8000), 2}}, {Pool("p", Capacity(8), 9)}, {}, joined, kNow);
  EXPECT_THAT(wanted.unneeded, ElementsAre("p-1", "p-2"));
}

TEST(WorkersWanted, WorkerWithALeaseIsNeverGivenBack) {
  JoinedWorker busy = Joined(1, "p-1", Capacity(8), Instant{0});
  busy.is_busy = true;
  const auto wanted = WorkersWanted({}, {Pool("p", Capacity(8), 9)}, {}, {busy}, kNow);
  EXPECT_THAT(wanted.give_back, IsEmpty());
  EXPECT_THAT(wanted.unneeded, IsEmpty());
}

TEST(WorkersWanted, MinIsAskedForWithoutAnyWork) {
  const auto wanted = WorkersWanted({}, {Pool("p", Capacity(8), 9, 2)}, {{"p-1", 0, {}}}, {}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(1));
  EXPECT_THAT(wanted.total, ElementsAre(2));
}

TEST(WorkersWanted, WorkerThatLeavesIsNoRoomAndIsReplaced) {
  JoinedWorker leaving = Joined(1, "p-1", Capacity(8));
  leaving.is_leaving = true;
  const auto wanted =
      WorkersWanted({{"a", Needs(1000), 1}}, {Pool("p", Capacity(8), 9)}, {}, {leaving}, kNow);
  EXPECT_THAT(wanted.ask, ElementsAre(1));
}

}  // namespace
}  // namespace tune
