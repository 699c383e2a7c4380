// What of a machine's devices is offered, and what a trial is told of its part.
#include "trial_runner/devices/offered_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial_runner/devices/device_environment.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const std::vector<Device> kAll = {
    {0, "H100", 80, "GPU-1b2c"}, {1, "H100", 80, "GPU-1b9f"}, {2, "L4", 24, "GPU-77aa"}};

std::vector<int64_t> Visible(std::string_view list) {
  std::vector<int64_t> indices;
  for (const Device& device : VisibleDevices(kAll, list)) indices.push_back(device.index);
  return indices;
}

TEST(VisibleDevices, AreNamedByPlaceOrByTheBeginningOfTheirUuid) {
  EXPECT_THAT(Visible("2,0"), ElementsAre(2, 0));
  EXPECT_THAT(Visible("GPU-77aa, GPU-1b2c"), ElementsAre(2, 0));
  EXPECT_THAT(Visible("GPU-1b9"), ElementsAre(1));
  EXPECT_THAT(Visible(" 1 ,GPU-7"), ElementsAre(1, 2));
}

// As CUDA does it.
TEST(VisibleDevices, EndAtTheFirstEntryThatIsNoneOrComesTwice) {
  EXPECT_THAT(Visible(""), IsEmpty());
  EXPECT_THAT(Visible("-1"), IsEmpty());
  EXPECT_THAT(Visible("1,3,0"), ElementsAre(1));
  EXPECT_THAT(Visible("0,,1"), ElementsAre(0));
  EXPECT_THAT(Visible("1,GPU-1b9f,0"), ElementsAre(1));
  EXPECT_THAT(Visible("GPU-1b"), IsEmpty()) << "two begin so";
  EXPECT_THAT(Visible("0,GPU-"), ElementsAre(0));
  EXPECT_THAT(Visible("MIG-77aa"), IsEmpty());
  EXPECT_THAT(Visible("NoDevFiles"), IsEmpty());
}

TEST(VisibleDevices, NamesAnInstanceByItsUuidAlone) {
  const std::vector<Device> all = {
      {0, "L4", 24, "GPU-77aa"}, {2, "1g", 10, "MIG-1b2c"}, {3, "1g", 10, "MIG-1b9f"}};
  EXPECT_THAT(VisibleDevices(all, "MIG-1b9,GPU-7,MIG-1b2c"), ElementsAre(all[2], all[0], all[1]));
  EXPECT_THAT(VisibleDevices(all, "0,2"), ElementsAre(all[0])) << "2 is no number of nvidia-smi's";
  EXPECT_THAT(VisibleDevices(all, "MIG-1b"), IsEmpty()) << "two begin so";
  EXPECT_THAT(VisibleDevices(all, "MIG-"), IsEmpty());
}

TEST(OfferedDevices, AreAllThatAreHereOrTheFirstOfThem) {
  EXPECT_EQ(*OfferedDevices(std::nullopt, kAll, true), kAll);
  EXPECT_EQ(OfferedDevices(2, kAll, true)->size(), 2u);
  EXPECT_THAT(*OfferedDevices(0, kAll, true), IsEmpty());
  EXPECT_THAT(*OfferedDevices(std::nullopt, {}, false), IsEmpty());
}

TEST(OfferedDevices, AreNotMoreThanThereAre) {
  EXPECT_EQ(OfferedDevices(4, kAll, true).status().message(),
            "--gpus: read 4, expected 0 to 3, the devices that are here");
  // Those that are hidden are no room for logical ones.
  EXPECT_EQ(OfferedDevices(1, {}, true).status().message(),
            "--gpus: read 1, expected 0 to 0, the devices that are here");
}

TEST(OfferedDevices, AreLogicalWhereTheMachineHasNone) {
  const auto offered = OfferedDevices(2, {}, false);
  ASSERT_TRUE(offered.ok());
  EXPECT_THAT(*offered, ElementsAre(Device{0, "logical device 0", 0, ""},
                                    Device{1, "logical device 1", 0, ""}));
  EXPECT_EQ(OfferedDevices(1025, {}, false).status().message(),
            "--gpus: read 1025, expected 0 to 1024");
}

// ---- what a trial is told

TEST(DeviceEnvironment, NamesDevicesByUuid) {
  EXPECT_THAT(EnvironmentOf({{0, 1000, 80}, {2, 1000, 24}}, kAll, true),
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "GPU-1b2c,GPU-77aa")));
  EXPECT_THAT(EnvironmentOf({{1, 1000}}, {{1, "logical device 1", 0, ""}}, false),
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "1")));
  EXPECT_THAT(EnvironmentOf({}, kAll, true), IsEmpty());
}

TEST(DeviceEnvironment, TellsAShareAndItsMemory) {
  EXPECT_THAT(EnvironmentOf({{2, 125, 3000}}, kAll, false),
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "GPU-77aa"), Pair("TUNE_GPU_SHARE", "0.125"),
                          Pair("TUNE_GPU_MEMORY_BYTES", "3000")));
  EXPECT_THAT(EnvironmentOf({{2, 500}}, kAll, false),
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "GPU-77aa"), Pair("TUNE_GPU_SHARE", "0.5")));
}

// The daemon's clients see one device, their first.
TEST(DeviceEnvironment, HoldsAShareToItsPartWhereMpsRuns) {
  EXPECT_THAT(EnvironmentOf({{1, 125, int64_t{5} << 30}}, kAll, true),
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "GPU-1b9f"), Pair("TUNE_GPU_SHARE", "0.125"),
                          Pair("TUNE_GPU_MEMORY_BYTES", "5368709120"),
                          Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "12"),
                          Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=5120M")));
  EXPECT_THAT(EnvironmentOf({{1, 4}}, kAll, true),
              testing::Contains(Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "1")));
}

TEST(DeviceEnvironment, LetsRanksOfOneMachineListenOnItsLoopbackAlone) {
  EXPECT_THAT(RankEnvironment(""),
              ElementsAre(Pair("NCCL_DEBUG", "WARN"), Pair("NCCL_SOCKET_IFNAME", "=lo"),
                          Pair("GLOO_SOCKET_IFNAME", "lo"), Pair("NCCL_IB_DISABLE", "1")));
  EXPECT_THAT(RankEnvironment("eth0"),
              ElementsAre(Pair("NCCL_DEBUG", "WARN"), Pair("NCCL_SOCKET_IFNAME", "=eth0"),
                          Pair("GLOO_SOCKET_IFNAME", "eth0")));
}

TEST(DeviceEnvironment, KnowsWhetherTwoSeeTheSame) {
  const auto of = [](std::vector<DeviceSlice> slices) {
    return EnvironmentOf(slices, kAll, false);
  };
  EXPECT_TRUE(SeeTheSame(of({{1, 250, 20}}), of({{1, 250, 34}})));
  EXPECT_FALSE(SeeTheSame(of({{1, 250, 20}}), of({{0, 250, 20}})));
  EXPECT_FALSE(SeeTheSame(of({{1, 250, 20}}), of({})));
  EXPECT_TRUE(SeeTheSame(of({}), of({})));
}

}  // namespace
}  // namespace tune
