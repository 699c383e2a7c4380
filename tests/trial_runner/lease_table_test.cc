// The books of what workers hold: the memory of devices, devices that fall away, what fuses.
#include "trial_runner/lease_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/trial_runner/mixed_devices.h"

namespace tune {
namespace {

using testing::ElementsAre;

// Of a trial of one rank.
std::optional<LeaseTable::Lease> GrantOne(LeaseTable& table, const ResourceRequest& request,
                                          int64_t trial, const std::string& fuse_key = "") {
  const auto leases = table.Grant(request, {TrialNumber{trial}, AttemptNumber{1}, {}}, fuse_key);
  return leases.empty() ? std::nullopt : std::optional(leases.front());
}

// Two of 30 GiB fit on 80 and none of them on 24, though the share would fit four and four times.
TEST(LeaseTable, AdmitsOnlyWhereMemoryIsLeft) {
  LeaseTable table;
  table.AddWorker(WorkerId{1}, MixedDevices(), false);
  const ResourceRequest request = Share(250, 30 * kGiB);
  for (int64_t trial = 0; trial < 2; ++trial) {
    const auto lease = GrantOne(table, request, trial);
    ASSERT_TRUE(lease);
    EXPECT_THAT(lease->placement.slices, ElementsAre(DeviceSlice{0, 250, 30 * kGiB}));
  }
  EXPECT_FALSE(table.HasRoom(request));
  EXPECT_TRUE(table.CouldTake(request)) << "unavailable, not infeasible";
  EXPECT_FALSE(table.CouldTake(Share(250, 81 * kGiB)));
  EXPECT_TRUE(table.HasRoom(Share(250, 20 * kGiB)));
  table.End(WorkerId{1}, {TrialNumber{0}, AttemptNumber{1}, LeaseEpoch{1}});
  EXPECT_TRUE(table.HasRoom(request));
}

TEST(LeaseTable, TrialsOfTwoSweepsHaveTheSameNumbersAndNothingElseInCommon) {
  LeaseTable table;
  table.AddWorker(WorkerId{1}, MixedDevices(), true);
  const AttemptRef first{TrialNumber{0}, AttemptNumber{1}, {}, ExperimentId{1}};
  const AttemptRef second{TrialNumber{0}, AttemptNumber{1}, {}, ExperimentId{2}};
  const auto leases = table.Grant(Share(250), first);
  const auto others = table.Grant(Share(250), second);
  ASSERT_EQ(leases.size() + others.size(), 2u);
  EXPECT_EQ(leases[0].ref.sweep, ExperimentId{1});
  EXPECT_LT(leases[0].ref.epoch, others[0].ref.epoch) << "an epoch is of one lease alone";
  EXPECT_EQ(table.running_count(), 2);
  ASSERT_EQ(table.RanksOf(ExperimentId{2}, TrialNumber{0}).size(), 1u);
  EXPECT_EQ(table.RanksOf(ExperimentId{2}, TrialNumber{0})[0].ref, others[0].ref);
  AttemptRef foreign = others[0].ref;
  foreign.sweep = ExperimentId{1};
  EXPECT_FALSE(table.IsRunning(WorkerId{1}, foreign));
  EXPECT_FALSE(table.End(WorkerId{1}, foreign).known);
  EXPECT_TRUE(table.End(WorkerId{1}, leases[0].ref).known);
  EXPECT_EQ(table.running_count(), 1);
  EXPECT_TRUE(table.RanksOf(ExperimentId{1}, TrialNumber{0}).empty());
  EXPECT_EQ(table.GrantAhead(WorkerId{1}, first).sweep, ExperimentId{1});
}

// ---- several sweeps

TEST(LeaseTable, WhatEachSweepHasIsTheSumOfItsRunningLeases) {
  LeaseTable table;
  table.AddWorker(WorkerId{1}, MixedDevices(), true);
  const AttemptRef first{TrialNumber{0}, AttemptNumber{1}, {}, ExperimentId{1}};
  const auto leases = table.Grant(Share(250), first);
  ASSERT_EQ(leases.size(), 1u);
  EXPECT_EQ(table.UsageOf(ExperimentId{1}).gpu_milli, 250);
  EXPECT_EQ(table.UsageOf(ExperimentId{2}).gpu_milli, 0);
  const AttemptRef queued = table.GrantAhead(WorkerId{1}, first);
  EXPECT_EQ(table.UsageOf(ExperimentId{1}).gpu_milli, 250) << "what waits has nothing";
  EXPECT_THAT(table.QueuesBeside(ExperimentId{2}), ElementsAre(WorkerId{1}));
  EXPECT_TRUE(table.QueuesBeside(ExperimentId{1}).empty());
  EXPECT_EQ(table.End(WorkerId{1}, leases[0].ref).begun->ref, queued);
  EXPECT_EQ(table.UsageOf(ExperimentId{1}).gpu_milli, 250);
  table.RemoveWorker(WorkerId{1});
  EXPECT_EQ(table.UsageOf(ExperimentId{1}).gpu_milli, 0);
}

TEST(LeaseTable, AFencedLeaseKeepsItsRoomUntilItsEndOrItsSweepIsForgotten) {
  for (const bool is_forgotten : {false, true}) {
    LeaseTable table;
    table.AddWorker(WorkerId{1}, MixedDevices(), false);
    const AttemptRef first{TrialNumber{0}, AttemptNumber{1}, {}, ExperimentId{1}};
    const int64_t free = table.Views()[0].free_cpu_milli;
    const auto leases = table.Grant(Share(250), first);
    table.Fence(WorkerId{1}, leases[0].ref);
    EXPECT_EQ(table.running_count(), 0);
    EXPECT_EQ(table.UsageOf(ExperimentId{1}).gpu_milli, 0);
    EXPECT_LT(table.Views()[0].free_cpu_milli, free);
    if (is_forgotten) {
      table.ForgetFenced(ExperimentId{2});
      EXPECT_LT(table.Views()[0].free_cpu_milli, free);
      table.ForgetFenced(ExperimentId{1});
    }
    EXPECT_FALSE(table.End(WorkerId{1}, leases[0].ref).known);
    EXPECT_EQ(table.Views()[0].free_cpu_milli, free);
  }
}

TEST(LeaseTable, TheEmptiestThatCouldTakeItAreThoseWithTheFewestLeases) {
  LeaseTable table;
  WorkerCapacity four;
  four.cpu_milli = 4 * kWholeMilli;
  WorkerCapacity two;
  two.cpu_milli = 2 * kWholeMilli;
  table.AddWorker(WorkerId{1}, four, false);
  table.AddWorker(WorkerId{2}, two, false);
  table.AddWorker(WorkerId{3}, four, false);
  ResourceRequest request;
  request.cpu_milli = 4 * kWholeMilli;
  EXPECT_THAT(table.EmptiestFor(request), ElementsAre(WorkerId{1}));
  ResourceRequest small;
  small.cpu_milli = kWholeMilli;
  table.Grant(small, {TrialNumber{0}, AttemptNumber{1}, {}}, "", {WorkerId{2}, WorkerId{3}});
  EXPECT_THAT(table.EmptiestFor(request), ElementsAre(WorkerId{3}));
  request.cpu_milli = 5 * kWholeMilli;
  EXPECT_TRUE(table.EmptiestFor(request).empty());
  request.cpu_milli = 2 * kWholeMilli;
  request.workers = 3;
  request.spread = true;
  EXPECT_THAT(table.EmptiestFor(request), ElementsAre(WorkerId{2}, WorkerId{3}));
}

// ---- a device falls away

TEST(LeaseTable, ALostDeviceTakesItsRoomAlong) {
  LeaseTable table;
  table.AddWorker(WorkerId{1}, MixedDevices(), false);
  const auto lease = GrantOne(table, Share(500), 0);
  ASSERT_TRUE(lease);
  ASSERT_EQ(lease->placement.slices[0].device, 1);
  EXPECT_TRUE(table.LoseDevice(WorkerId{1}, 1));
  EXPECT_FALSE(table.LoseDevice(WorkerId{1}, 1));
  EXPECT_TRUE(table.IsRunning(WorkerId{1}, lease->ref)) << "until its end arrives";
  EXPECT_FALSE(table.CouldTake(Share(2000)));
  const auto other = GrantOne(table, Share(1000), 1);
  ASSERT_TRUE(other);
  EXPECT_THAT(other->placement.slices, ElementsAre(DeviceSlice{0, 1000, 80 * kGiB}));
  EXPECT_TRUE(table.End(WorkerId{1}, lease->ref).known);
  EXPECT_FALSE(table.HasRoom(Share(250)));
  table.End(WorkerId{1}, other->ref);
  EXPECT_TRUE(table.HasRoom(Share(1000)));
  EXPECT_EQ(table.Views()[0].free_cpu_milli, 16'000);
}

// Grants, ends and losses in any order leave the books as a plain count of what runs would.
TEST(LeaseTable, BooksOfMemoryAreThoseOfAPlainCount) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    KeyedRandom random(seed, "books of memory");
    LeaseTable table;
    table.AddWorker(WorkerId{1}, MixedDevices(), false);
    std::vector<LeaseTable::Lease> leases;
    for (int64_t step = 0; step < 200; ++step) {
      if (!leases.empty() && random.NextBelow(2) == 0) {
        const size_t at = random.NextBelow(leases.size());
        table.End(WorkerId{1}, leases[at].ref);
        leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        const auto lease = GrantOne(table,
                                    Share(125 * static_cast<int64_t>(1 + random.NextBelow(8)),
                                          static_cast<int64_t>(random.NextBelow(3)) * 10 * kGiB),
                                    step);
        if (lease) leases.push_back(*lease);
      }
      if (step == 150) table.LoseDevice(WorkerId{1}, 0);
      const WorkerView view = table.Views()[0];
      for (size_t i = 0; i < view.capacity.devices.size(); ++i) {
        int64_t milli = 0, memory = 0;
        for (const LeaseTable::Lease& lease : leases) {
          for (const DeviceSlice& slice : lease.placement.slices) {
            if (slice.device != view.capacity.devices[i].index) continue;
            milli += slice.milli;
            memory += slice.memory_bytes;
          }
        }
        ASSERT_EQ(view.free_gpu_milli[i], kWholeMilli - milli);
        ASSERT_EQ(view.free_gpu_memory[i], view.capacity.devices[i].memory_bytes - memory);
        ASSERT_LE(milli, kWholeMilli);
        ASSERT_LE(memory, view.capacity.devices[i].memory_bytes);
      }
    }
  }
}

// ---- what fuses

// The books know what runs where, and forget what has ended.
TEST(LeaseTable, TheBooksKnowWhatFuses) {
  LeaseTable leases;
  leases.AddWorker(WorkerId{1}, {8000, {{0, "d", 0}, {1, "d", 0}}});
  ResourceRequest share;
  share.cpu_milli = 1000;
  share.gpu_milli = 250;
  const auto grant = [&](int64_t trial, const std::string& key) {
    return *GrantOne(leases, share, trial, key);
  };
  const auto device = [](const LeaseTable::Lease& lease) {
    return lease.placement.slices.front().device;
  };
  ResourceRequest whole = share;
  whole.gpu_milli = 1000;
  const auto first = *GrantOne(leases, whole, 0);
  const auto a = grant(1, "a");
  EXPECT_EQ(device(a), 1) << "the other one is taken";
  leases.End(WorkerId{1}, first.ref);
  const auto b = grant(2, "b");
  const auto c = grant(3, "b");
  EXPECT_EQ(device(b), 1) << "the fullest";
  EXPECT_EQ(device(c), 1) << "beside its like";
  const auto d = grant(4, "a");
  EXPECT_EQ(device(d), 1);
  const auto e = grant(5, "b");
  EXPECT_EQ(device(e), 0) << "there is no room beside its like";
  leases.End(WorkerId{1}, a.ref);
  EXPECT_EQ(device(grant(6, "b")), 1) << "both run its like: the fuller one";
  leases.End(WorkerId{1}, d.ref);
  EXPECT_EQ(device(grant(7, "a")), 1) << "nothing of its like runs any more";
}

TEST(LeaseTable, ADeviceThatFallsAwayTakesWhatFusesThereAlong) {
  LeaseTable leases;
  leases.AddWorker(WorkerId{1}, {8000, {{0, "d", 0}, {1, "d", 0}}});
  ResourceRequest share;
  share.gpu_milli = 250;
  ResourceRequest whole;
  whole.gpu_milli = 1000;
  const auto filler = *GrantOne(leases, whole, 0);
  const auto on_second = *GrantOne(leases, share, 1, "a");
  ASSERT_EQ(on_second.placement.slices.front().device, 1);
  ASSERT_TRUE(leases.LoseDevice(WorkerId{1}, 0));
  leases.End(WorkerId{1}, filler.ref);
  EXPECT_EQ(GrantOne(leases, share, 2, "a")->placement.slices.front().device, 1);
  ASSERT_TRUE(leases.LoseDevice(WorkerId{1}, 1));
  leases.End(WorkerId{1}, on_second.ref);
  EXPECT_FALSE(GrantOne(leases, share, 3, "a"));
}

TEST(LeaseTable, AShareGoesToTheWorkerThatRunsWhatItFusesWith) {
  LeaseTable leases;
  for (int64_t i = 1; i <= 3; ++i) leases.AddWorker(WorkerId{i}, {8000, {{0, "d", 0}}});
  ResourceRequest half;
  half.gpu_milli = 500;
  ResourceRequest whole;
  whole.gpu_milli = 1000;
  const auto worker_of = [&](int64_t trial, const ResourceRequest& request, const char* key) {
    const auto lease = GrantOne(leases, request, trial, key);
    return lease ? lease->placement.worker.value : 0;
  };
  const auto filler = *GrantOne(leases, whole, 0);
  EXPECT_EQ(filler.placement.worker, WorkerId{1});
  EXPECT_EQ(worker_of(1, half, "a"), 2);
  leases.End(WorkerId{1}, filler.ref);
  EXPECT_EQ(worker_of(2, half, ""), 2) << "packed";
  EXPECT_EQ(worker_of(3, half, "a"), 1) << "there is no room beside its like";
  EXPECT_EQ(worker_of(4, half, "b"), 1) << "packed";
  EXPECT_EQ(worker_of(5, half, "b"), 3);
  EXPECT_EQ(worker_of(6, half, "b"), 3) << "beside its like";
  EXPECT_EQ(worker_of(7, half, "b"), 0);
}

}  // namespace
}  // namespace tune
