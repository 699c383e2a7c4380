// Which worker and which devices, with the memory of devices counted, and what fuses.
#include "trial_runner/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/resource_text.h"
#include "tests/trial_runner/mixed_devices.h"

namespace tune {
namespace {

using testing::ElementsAre;

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
  WorkerView view = EmptyWorker(WorkerId{1}, MixedDevices());
  EXPECT_THAT(SlicesOf(Share(500), view), ElementsAre(DeviceSlice{1, 500, 12 * kGiB}));
  view.free_gpu_milli[0] = 500;
  EXPECT_THAT(SlicesOf(Share(500), view), ElementsAre(DeviceSlice{0, 500, 40 * kGiB}));
}

// The share's own part on a device that has room for it and not enough memory left.
TEST(Placement, PassesOverADeviceWhoseMemoryOthersHave) {
  WorkerView view = EmptyWorker(WorkerId{1}, MixedDevices());
  view.free_gpu_milli[1] = 700;
  view.free_gpu_memory[1] = 2 * kGiB;
  EXPECT_THAT(SlicesOf(Share(250), view), ElementsAre(DeviceSlice{0, 250, 20 * kGiB}));
}

TEST(Placement, WholeDevicesAreThoseWithTheLeastMemoryThatIsEnough) {
  const WorkerView view = EmptyWorker(WorkerId{1}, MixedDevices());
  EXPECT_THAT(SlicesOf(Share(1000), view), ElementsAre(DeviceSlice{1, 1000, 24 * kGiB}));
  EXPECT_THAT(SlicesOf(Share(1000, 25 * kGiB), view), ElementsAre(DeviceSlice{0, 1000, 80 * kGiB}));
  EXPECT_THAT(SlicesOf(Share(1000, 0, 25 * kGiB), view),
              ElementsAre(DeviceSlice{0, 1000, 80 * kGiB}));
  EXPECT_THAT(SlicesOf(Share(2000), view),
              ElementsAre(DeviceSlice{0, 1000, 80 * kGiB}, DeviceSlice{1, 1000, 24 * kGiB}));
  EXPECT_FALSE(PlaceOn(Share(2000, 25 * kGiB), view));
}

WorkerCapacity Instances() {
  return {16'000,
          {{0, "L4", 24 * kGiB, "GPU-77aa"},
           {2, "2g", 20 * kGiB, "MIG-1b2c"},
           {3, "2g", 20 * kGiB, "MIG-1b9f"}}};
}

TEST(Placement, AnInstanceIsADeviceButNeverOneOfSeveralForATrial) {
  const WorkerView view = EmptyWorker(WorkerId{1}, Instances());
  EXPECT_THAT(SlicesOf(Share(500), view), ElementsAre(DeviceSlice{2, 500, 10 * kGiB}));
  EXPECT_THAT(SlicesOf(Share(1000), view), ElementsAre(DeviceSlice{2, 1000, 20 * kGiB}));
  EXPECT_FALSE(PlaceOn(Share(2000), view));
  EXPECT_FALSE(CouldEverFit(Share(2000), Instances()));
  EXPECT_EQ(CountOnDevice(Share(1000), Instances().devices[1]), 1);
  EXPECT_EQ(CountOnDevice(Share(2000), Instances().devices[1]), 0);
  EXPECT_EQ(DescribeCapacity(Instances()),
            "16 CPUs, 1 GPU (24 GiB), 2 MIG instances (20 GiB, 20 GiB), one for a process");
}

TEST(Placement, SaysWhatIsNeededAndWhatIsThere) {
  EXPECT_EQ(DescribeRequest(Share(250, 30 * kGiB)), "cpu: 1, gpu: 0.25, gpu_memory: 30 GiB");
  EXPECT_EQ(DescribeRequest(Share(250, 0, kGiB * 3 / 2)),
            "cpu: 1, gpu: 0.25, 1.5 GiB of GPU memory, as learned");
  EXPECT_EQ(DescribeCapacity(MixedDevices()), "16 CPUs, 2 GPUs (80 GiB, 24 GiB)");
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

}  // namespace
}  // namespace tune
