// Ranks of one trial are placed together or not at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/random.h"
#include "trial_runner/lease_table.h"
#include "trial_runner/placement.h"

namespace tune {
namespace {

WorkerCapacity Capacity(int64_t cpus, int64_t gpus) {
  WorkerCapacity capacity;
  capacity.cpu_milli = cpus * kWholeMilli;
  for (int64_t i = 0; i < gpus; ++i) capacity.devices.push_back(Device{i, "d", 0});
  return capacity;
}

ResourceRequest Request(int64_t cpu_milli, int64_t gpu_milli, int64_t workers) {
  ResourceRequest request;
  request.cpu_milli = cpu_milli;
  request.gpu_milli = gpu_milli;
  request.workers = workers;
  request.spread = true;
  return request;
}

WorkerView DrawView(int64_t id, KeyedRandom& random) {
  const int64_t gpus = static_cast<int64_t>(random.NextBelow(4));
  WorkerView view =
      EmptyWorker(WorkerId{id}, Capacity(1 + static_cast<int64_t>(random.NextBelow(4)), gpus));
  view.free_cpu_milli = 500 * static_cast<int64_t>(random.NextBelow(9));
  view.free_cpu_milli = std::min(view.free_cpu_milli, view.capacity.cpu_milli);
  for (int64_t& free : view.free_gpu_milli) {
    free = 250 * static_cast<int64_t>(random.NextBelow(5));
  }
  view.is_draining = random.NextBelow(8) == 0;
  return view;
}

// How many ranks fit on one worker, counted and not placed.
int64_t RoomOn(const ResourceRequest& request, const WorkerView& view) {
  if (view.is_draining) return 0;
  int64_t room = request.cpu_milli == 0 ? 1000 : view.free_cpu_milli / request.cpu_milli;
  if (request.gpu_milli == 0) return room;
  int64_t by_devices = 0;
  if (request.gpu_milli < kWholeMilli) {
    for (const int64_t free : view.free_gpu_milli) by_devices += free / request.gpu_milli;
  } else {
    by_devices = std::count(view.free_gpu_milli.begin(), view.free_gpu_milli.end(), kWholeMilli) /
                 (request.gpu_milli / kWholeMilli);
  }
  return std::min(room, by_devices);
}

TEST(PlaceRanks, PlacesAllWhereverThereIsRoomForAllAndNoneElsewhere) {
  constexpr int64_t kGpus[] = {0, 250, 500, 750, 1000, 2000};
  int64_t placed_count = 0, refused_count = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    KeyedRandom random(seed, "ranks");
    std::vector<WorkerView> views;
    int64_t room = 0;
    const ResourceRequest request =
        Request(500 * static_cast<int64_t>(1 + random.NextBelow(3)), kGpus[random.NextBelow(6)],
                2 + static_cast<int64_t>(random.NextBelow(4)));
    for (int64_t id = 1; id <= 4; ++id) {
      views.push_back(DrawView(id, random));
      room += RoomOn(request, views.back());
    }
    const std::vector<Placement> ranks = PlaceRanks(request, views);
    ASSERT_EQ(!ranks.empty(), room >= request.workers) << "seed " << seed;
    (ranks.empty() ? refused_count : placed_count) += 1;
    if (ranks.empty()) continue;
    ASSERT_EQ(static_cast<int64_t>(ranks.size()), request.workers);
    for (const Placement& rank : ranks) {
      int64_t milli = 0;
      for (const DeviceSlice& slice : rank.slices) milli += slice.milli;
      EXPECT_EQ(milli, request.gpu_milli);
      // Never one share over two devices.
      EXPECT_EQ(static_cast<int64_t>(rank.slices.size()),
                request.gpu_milli == 0 ? 0 : std::max<int64_t>(1, request.gpu_milli / kWholeMilli));
      for (WorkerView& view : views) {
        if (view.worker == rank.worker) Book(rank, -1, view);  // Dies where there is too little.
      }
    }
  }
  EXPECT_GT(placed_count, 500);
  EXPECT_GT(refused_count, 500);
}

TEST(PlaceRanks, KeepsThemOnOneWorkerUnlessTheyMaySpread) {
  int64_t placed_count = 0, refused_count = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    KeyedRandom random(seed, "ranks together");
    ResourceRequest request = Request(500, 250 * static_cast<int64_t>(random.NextBelow(3)), 3);
    request.spread = false;
    std::vector<WorkerView> views;
    int64_t room_on_one = 0;
    for (int64_t id = 1; id <= 4; ++id) {
      views.push_back(DrawView(id, random));
      room_on_one = std::max(room_on_one, RoomOn(request, views.back()));
    }
    const std::vector<Placement> ranks = PlaceRanks(request, views);
    ASSERT_EQ(!ranks.empty(), room_on_one >= 3) << "seed " << seed;
    (ranks.empty() ? refused_count : placed_count) += 1;
    for (const Placement& rank : ranks) EXPECT_EQ(rank.worker, ranks.front().worker);
  }
  EXPECT_GT(placed_count, 200);
  EXPECT_GT(refused_count, 200);
}

TEST(PlaceRanks, PutsThoseOfAWorkerSideBySide) {
  const std::vector<Placement> ranks = PlaceRanks(
      Request(1000, 0, 5),
      {EmptyWorker(WorkerId{1}, Capacity(3, 0)), EmptyWorker(WorkerId{2}, Capacity(4, 0))});
  std::vector<int64_t> workers;
  for (const Placement& rank : ranks) workers.push_back(rank.worker.value);
  EXPECT_EQ(workers, (std::vector<int64_t>{2, 2, 2, 1, 1}));
}

TEST(CouldEverFit, CountsTheRanksOverAllWorkers) {
  EXPECT_TRUE(CouldEverFit(Request(2000, 0, 2), Capacity(4, 0)));
  EXPECT_FALSE(CouldEverFit(Request(2000, 0, 3), Capacity(4, 0)));
  EXPECT_TRUE(CouldEverFit(Request(2000, 0, 3), {Capacity(4, 0), Capacity(2, 0)}));
  EXPECT_FALSE(CouldEverFit(Request(1000, 1000, 2), {Capacity(4, 1), Capacity(2, 0)}));
  ResourceRequest together = Request(2000, 0, 3);
  together.spread = false;
  EXPECT_FALSE(CouldEverFit(together, {Capacity(4, 0), Capacity(2, 0)}));
  EXPECT_TRUE(CouldEverFit(together, {Capacity(4, 0), Capacity(6, 0)}));
}

TEST(LeaseTable, GrantsALeaseToEachRankAndCountsTheAttemptOnce) {
  LeaseTable table;
  table.AddWorker(WorkerId{1}, Capacity(2, 0));
  table.AddWorker(WorkerId{2}, Capacity(1, 0));
  const ResourceRequest three = Request(1000, 0, 3);
  const std::vector<LeaseTable::Lease> ranks =
      table.Grant(three, {TrialNumber{7}, AttemptNumber{1}, {}});
  ASSERT_EQ(ranks.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ranks[i].rank, static_cast<int64_t>(i));
  EXPECT_EQ(table.running_count(), 1);
  EXPECT_EQ(table.RanksOf({}, TrialNumber{7}).size(), 3u);
  EXPECT_FALSE(table.HasRoom(Request(1000, 0, 1)));
  ASSERT_EQ(table.All().size(), 1u);  // The one that speaks for the attempt.
  EXPECT_EQ(table.All().front().second, ranks[0].ref);

  EXPECT_TRUE(table.End(ranks[0].placement.worker, ranks[0].ref).was_running);
  EXPECT_EQ(table.running_count(), 1);
  EXPECT_FALSE(table.HasRoom(three));
  EXPECT_TRUE(table.HasRoom(Request(1000, 0, 1)));
  EXPECT_TRUE(table.Grant(three, {TrialNumber{8}, AttemptNumber{1}, {}}).empty());
  EXPECT_TRUE(table.HasRoom(Request(1000, 0, 1)));  // Nothing was taken for it.
  EXPECT_TRUE(table.End(ranks[1].placement.worker, ranks[1].ref).was_running);
  EXPECT_TRUE(table.End(ranks[2].placement.worker, ranks[2].ref).was_running);
  EXPECT_EQ(table.running_count(), 0);
  EXPECT_TRUE(table.HasRoom(three));
}

}  // namespace
}  // namespace tune
