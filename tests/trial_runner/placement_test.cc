// Which worker and which devices, with the memory of devices counted, and what fuses.
#include "trial_runner/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/resource_text.h"
#include "trial_runner/lease_table.h"

namespace tune {
namespace {

using testing::ElementsAre;

constexpr int64_t kGiB = int64_t{1} << 30;
const WorkerCapacity kMixed{16'000,
                            {{0, "H100", 80 * kGiB, "GPU-a"}, {1, "L4", 24 * kGiB, "GPU-b"}}};

ResourceRequest Share(int64_t milli, int64_t asked = 0, int64_t learned = 0) {
  ResourceRequest request;
  request.gpu_milli = milli;
  request.gpu_memory_bytes = asked;
  request.learned_gpu_memory_bytes = learned;
  return request;
}

std::vector<DeviceSlice> SlicesOf(const ResourceRequest& request, const WorkerView& view) {
  const auto placement = PlaceOn(request, view);
  return placement ? placement->slices : std::vector<DeviceSlice>();
}

TEST(Placement, AShareHasItsPartOfTheMemoryUnlessMoreWasAskedForOrLearned) {
  const Device device{0, "H100", 80 * kGiB, "GPU-a"};
  EXPECT_EQ(SliceMemory(Share(250), device), 20 * kGiB);
  EXPECT_EQ(SliceMemory(Share(250, 30 * kGiB), device), 30 * kGiB);
  EXPECT_EQ(SliceMemory(Share(250, 5 * kGiB), device), 5 * kGiB);
  EXPECT_EQ(SliceMemory(Share(250, 0, 30 * kGiB), device), 30 * kGiB);
  EXPECT_EQ(SliceMemory(Share(250, 0, 3 * kGiB), device), 20 * kGiB) << "a share keeps its part";
  EXPECT_EQ(SliceMemory(Share(250, 5 * kGiB, 30 * kGiB), device), 5 * kGiB) << "asked is asked";
  EXPECT_EQ(SliceMemory(Share(1000, 5 * kGiB), device), 80 * kGiB);
  EXPECT_EQ(SliceMemory(Share(250), Device{0, "logical", 0}), 0);
}

TEST(Placement, AShareLiesOnTheFullestDeviceThenOnTheOneWithTheLeastMemory) {
  WorkerView view = EmptyWorker(WorkerId{1}, kMixed);
  EXPECT_THAT(SlicesOf(Share(500), view), ElementsAre(DeviceSlice{1, 500, 12 * kGiB}));
  view.free_gpu_milli[0] = 500;
  EXPECT_THAT(SlicesOf(Share(500), view), ElementsAre(DeviceSlice{0, 500, 40 * kGiB}));
}

// The share's own part on a device that has room for it and not enough memory left.
TEST(Placement, PassesOverADeviceWhoseMemoryOthersHave) {
  WorkerView view = EmptyWorker(WorkerId{1}, kMixed);
  view.free_gpu_milli[1] = 700;
  view.free_gpu_memory[1] = 2 * kGiB;
  EXPECT_THAT(SlicesOf(Share(250), view), ElementsAre(DeviceSlice{0, 250, 20 * kGiB}));
}

TEST(Placement, WholeDevicesAreThoseWithTheLeastMemoryThatIsEnough) {
  const WorkerView view = EmptyWorker(WorkerId{1}, kMixed);
  EXPECT_THAT(SlicesOf(Share(1000), view), ElementsAre(DeviceSlice{1, 1000, 24 * kGiB}));
  EXPECT_THAT(SlicesOf(Share(1000, 25 * kGiB), view), ElementsAre(DeviceSlice{0, 1000, 80 * kGiB}));
  EXPECT_THAT(SlicesOf(Share(1000, 0, 25 * kGiB), view),
              ElementsAre(DeviceSlice{0, 1000, 80 * kGiB}));
  EXPECT_THAT(SlicesOf(Share(2000), view),
              ElementsAre(DeviceSlice{0, 1000, 80 * kGiB}, DeviceSlice{1, 1000, 24 * kGiB}));
  EXPECT_FALSE(PlaceOn(Share(2000, 25 * kGiB), view));
}

TEST(Placement, SaysWhatIsNeededAndWhatIsThere) {
  EXPECT_EQ(DescribeRequest(Share(250, 30 * kGiB)), "cpu: 1, gpu: 0.25, gpu_memory: 30 GiB");
  EXPECT_EQ(DescribeRequest(Share(250, 0, kGiB * 3 / 2)),
            "cpu: 1, gpu: 0.25, 1.5 GiB of GPU memory, as learned");
  EXPECT_EQ(DescribeCapacity(kMixed), "16 CPUs, 2 GPUs (80 GiB, 24 GiB)");
  EXPECT_EQ(DescribeCapacity({1000, {{0, "logical", 0}}}), "1 CPU, 1 GPU");
  EXPECT_EQ(DescribeMemory(300), "300 bytes");
  EXPECT_EQ(DescribeMemory(24'152'899'584), "22.4 GiB");
}

WorkerView TwoDevices(std::vector<int64_t> free_gpu_milli) {
  WorkerView view = EmptyWorker(WorkerId{1}, {8000, {{0, "d", 0}, {1, "d", 0}}});
  view.free_gpu_milli = std::move(free_gpu_milli);
  return view;
}

int64_t DeviceOf(const WorkerView& view, const std::string& key) {
  ResourceRequest request;
  request.gpu_milli = 250;
  const auto placement = PlaceOn(request, view, key);
  return placement ? placement->slices.front().device : -1;
}

TEST(Placement, AShareGoesToTheDeviceThatRunsWhatItFusesWith) {
  WorkerView view = TwoDevices({500, 750});
  EXPECT_EQ(DeviceOf(view, "a"), 0) << "the fullest";
  view.fuse_keys = {{{"b", 2}}, {{"a", 1}}};
  EXPECT_EQ(DeviceOf(view, "a"), 1);
  EXPECT_EQ(DeviceOf(view, "b"), 0);
  EXPECT_EQ(DeviceOf(view, "c"), 0);
  EXPECT_EQ(DeviceOf(view, ""), 0);
  view.free_gpu_milli = {500, 0};
  EXPECT_EQ(DeviceOf(view, "a"), 0) << "there is no room beside its like";
}

// The books know what runs where, and forget what has ended.
TEST(Placement, TheBooksKnowWhatFuses) {
  LeaseTable leases;
  leases.AddWorker(WorkerId{1}, {8000, {{0, "d", 0}, {1, "d", 0}}});
  ResourceRequest share;
  share.cpu_milli = 1000;
  share.gpu_milli = 250;
  const auto grant = [&](int64_t trial, const std::string& key) {
    return *leases.Grant(share, TrialNumber{trial}, AttemptNumber{1}, key);
  };
  const auto device = [](const LeaseTable::Lease& lease) {
    return lease.placement.slices.front().device;
  };
  ResourceRequest whole = share;
  whole.gpu_milli = 1000;
  const auto first = *leases.Grant(whole, TrialNumber{0}, AttemptNumber{1});
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

TEST(Placement, ADeviceThatFallsAwayTakesWhatFusesThereAlong) {
  LeaseTable leases;
  leases.AddWorker(WorkerId{1}, {8000, {{0, "d", 0}, {1, "d", 0}}});
  ResourceRequest share;
  share.gpu_milli = 250;
  ResourceRequest whole;
  whole.gpu_milli = 1000;
  const auto filler = *leases.Grant(whole, TrialNumber{0}, AttemptNumber{1});
  const auto on_second = *leases.Grant(share, TrialNumber{1}, AttemptNumber{1}, "a");
  ASSERT_EQ(on_second.placement.slices.front().device, 1);
  ASSERT_TRUE(leases.LoseDevice(WorkerId{1}, 0));
  leases.End(WorkerId{1}, filler.ref);
  EXPECT_EQ(
      leases.Grant(share, TrialNumber{2}, AttemptNumber{1}, "a")->placement.slices.front().device,
      1);
  ASSERT_TRUE(leases.LoseDevice(WorkerId{1}, 1));
  leases.End(WorkerId{1}, on_second.ref);
  EXPECT_FALSE(leases.Grant(share, TrialNumber{3}, AttemptNumber{1}, "a"));
}

TEST(Placement, AShareGoesToTheWorkerThatRunsWhatItFusesWith) {
  LeaseTable leases;
  for (int64_t i = 1; i <= 3; ++i) leases.AddWorker(WorkerId{i}, {8000, {{0, "d", 0}}});
  ResourceRequest half;
  half.gpu_milli = 500;
  ResourceRequest whole;
  whole.gpu_milli = 1000;
  const auto worker_of = [&](int64_t trial, const ResourceRequest& request, const char* key) {
    const auto lease = leases.Grant(request, TrialNumber{trial}, AttemptNumber{1}, key);
    return lease ? lease->placement.worker.value : 0;
  };
  const auto filler = *leases.Grant(whole, TrialNumber{0}, AttemptNumber{1});
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
