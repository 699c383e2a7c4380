// NVML as it is loaded, asked and understood, with a library in its place: dlopen, symbols and
// structs are real. Each test is a process of its own state file.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/e2e/program.h"
#include "tests/standin_nvml/standin_machine.h"
#include "trial_runner/devices/device_inventory.h"
#include "trial_runner/devices/mps_daemon.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kGiB = int64_t{1} << 30;

// A library that is loaded is found by its name.
void Load(const std::string& folder) {
  const char* const build = std::getenv("TUNE_BUILD_DIR");
  const std::string path = std::string(build == nullptr ? "build/release" : build) + "/tests/" +
                           folder + "/libnvidia-ml.so.1";
  ASSERT_NE(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
}

class NvmlInventory : public ::testing::Test {
 protected:
  std::unique_ptr<DeviceInventory> Open() {
    Result<std::unique_ptr<DeviceInventory>> inventory = OpenNvml();
    EXPECT_TRUE(inventory.ok()) << inventory.status().message();
    return inventory.ok() ? *std::move(inventory) : nullptr;
  }

  testing::TestFolder folder_;
  testing::StandInMachine machine_{folder_ / "nvml"};
};

// In a process of its own: the others load one.
TEST_F(NvmlInventory, WithoutTheLibraryThereIsNone) {
  const pid_t child = fork();
  if (child == 0) {
    if (dlopen("libnvidia-ml.so.1", RTLD_NOW) != nullptr) _exit(77);
    _exit(OpenNvml().status().code() == StatusCode::kNotFound ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this machine has the real one";
  EXPECT_EQ(status, 0);
}

TEST_F(NvmlInventory, ListsDevicesByNameMemoryAndUuid) {
  Load("nvml");
  machine_.Device("GPU-1b2c", 80 * kGiB, kGiB, "NVIDIA H100 80GB HBM3");
  machine_.Device("GPU-9f00", 24 * kGiB, 0, "NVIDIA L4");
  const auto inventory = Open();
  ASSERT_NE(inventory, nullptr);
  EXPECT_THAT(inventory->List(),
              ElementsAre(Device{0, "NVIDIA H100 80GB HBM3", 80 * kGiB, "GPU-1b2c"},
                          Device{1, "NVIDIA L4", 24 * kGiB, "GPU-9f00"}));
}

TEST_F(NvmlInventory, ReadsWhoUsesHowMuch) {
  Load("nvml");
  machine_.Device("GPU-1b2c", 80 * kGiB, 30 * kGiB, "H100");
  machine_.Process(0, 4711, 20 * kGiB);
  machine_.Process(0, 4712, -1);
  machine_.Process(0, 4713, 9 * kGiB);
  const auto inventory = Open();
  ASSERT_NE(inventory, nullptr);
  const Device device = inventory->List().at(0);
  const auto reading = inventory->Read(device);
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->memory_bytes, 80 * kGiB);
  EXPECT_EQ(reading->used_bytes, 30 * kGiB);
  // What is not available is left out.
  EXPECT_THAT(reading->processes,
              ElementsAre(DeviceProcess{4711, 20 * kGiB}, DeviceProcess{4713, 9 * kGiB}));
  EXPECT_EQ(reading->lost, "");
}

TEST_F(NvmlInventory, AsksAgainWithRoomForMoreProcesses) {
  Load("nvml");
  machine_.Device("GPU-1b2c", 80 * kGiB, 0, "H100");
  for (int i = 1; i <= 200; ++i) machine_.Process(0, i, i);
  const auto inventory = Open();
  ASSERT_NE(inventory, nullptr);
  const auto reading = inventory->Read(inventory->List().at(0));
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->processes.size(), 200u);
  EXPECT_EQ(reading->processes.back(), (DeviceProcess{200, 200}));
}

TEST_F(NvmlInventory, TellsALostDeviceFromOneThatIsSilentForNow) {
  Load("nvml");
  machine_.Device("GPU-1b2c", 80 * kGiB, 0, "H100");
  const auto inventory = Open();
  ASSERT_NE(inventory, nullptr);
  const Device device = inventory->List().at(0);
  machine_.Fail(0, 999);
  EXPECT_EQ(inventory->Read(device).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(inventory->Read(device).status().message(), "NVML: Unknown Error (999)");
  machine_.Fail(0, testing::StandInMachine::kGpuIsLost);
  const auto reading = inventory->Read(device);
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->lost, "NVML: GPU is lost (15)");
  EXPECT_THAT(inventory->List(), IsEmpty());
}

TEST_F(NvmlInventory, ADriverThatIsNotLoadedIsNoDriverAndOneThatDoesNotFitSaysSo) {
  Load("nvml");
  machine_.Driver(9);
  EXPECT_EQ(OpenNvml().status().code(), StatusCode::kNotFound);
  machine_.Driver(testing::StandInMachine::kVersionMismatch);
  EXPECT_EQ(OpenNvml().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(OpenNvml().status().message(), "NVML: Driver/library version mismatch (18)");
}

// ---- MIG

TEST_F(NvmlInventory, OfADeviceInMigModeListsItsInstancesAfterTheWholeDevices) {
  Load("nvml");
  machine_.Device("GPU-1b2c", 80 * kGiB, kGiB, "H100");
  machine_.MigMode(0);
  machine_.Instance(0, "MIG-aaaa", 40 * kGiB, 0, 1, "H100 MIG 3g.40gb");
  machine_.Instance(0, "MIG-bbbb", 20 * kGiB, 0, 5, "H100 MIG 2g.20gb");
  machine_.Device("GPU-77aa", 24 * kGiB, 0, "L4");
  machine_.Device("GPU-88bb", 24 * kGiB, 0, "H100 without an instance");
  machine_.MigMode(2);
  const auto inventory = Open();
  ASSERT_NE(inventory, nullptr);
  EXPECT_THAT(inventory->List(), ElementsAre(Device{1, "L4", 24 * kGiB, "GPU-77aa"},
                                             Device{3, "H100 MIG 3g.40gb", 40 * kGiB, "MIG-aaaa"},
                                             Device{4, "H100 MIG 2g.20gb", 20 * kGiB, "MIG-bbbb"}));
}

TEST_F(NvmlInventory, ReadsWhoUsesHowMuchOfAnInstance) {
  Load("nvml");
  machine_.Device("GPU-1b2c", 80 * kGiB, 30 * kGiB, "H100");
  machine_.Process(0, 1, kGiB);
  machine_.MigMode(0);
  machine_.Instance(0, "MIG-aaaa", 40 * kGiB, 0, 1, "a");
  machine_.Instance(0, "MIG-bbbb", 20 * kGiB, 7 * kGiB, 2, "b");
  machine_.InstanceProcess(0, 1, 4711, 6 * kGiB);
  const auto inventory = Open();
  ASSERT_NE(inventory, nullptr);
  const auto reading = inventory->Read(inventory->List().at(1));
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->device, 2);
  EXPECT_EQ(reading->memory_bytes, 20 * kGiB);
  EXPECT_EQ(reading->used_bytes, 7 * kGiB);
  EXPECT_THAT(reading->processes, ElementsAre(DeviceProcess{4711, 6 * kGiB}));
}

TEST_F(NvmlInventory, AnInstanceIsLostWithItsDeviceAndWhenItIsUnmade) {
  Load("nvml");
  machine_.Device("GPU-1b2c", 80 * kGiB, 0, "H100");
  machine_.MigMode(0);
  machine_.Instance(0, "MIG-aaaa", 40 * kGiB, 0, 1, "a");
  const auto inventory = Open();
  ASSERT_NE(inventory, nullptr);
  const Device instance = inventory->List().at(0);
  machine_.Fail(0, testing::StandInMachine::kGpuIsLost);
  EXPECT_EQ(inventory->Read(instance)->lost, "NVML: GPU is lost (15)");
  machine_.Clear();
  machine_.Device("GPU-1b2c", 80 * kGiB, 0, "H100");
  EXPECT_EQ(inventory->Read(instance)->lost, "NVML: Not Found (6)");
}

// ---- Xid

TEST_F(NvmlInventory, AnErrorThatOnlyAResetEndsIsTheDevicesLossAtOnceAndForGood) {
  Load("nvml");
  machine_.Device("GPU-1b2c", 80 * kGiB, 0, "H100");
  machine_.Device("GPU-77aa", 24 * kGiB, 0, "L4");
  machine_.Xid(0, 79);
  const auto inventory = Open();
  ASSERT_NE(inventory, nullptr);
  const std::vector<Device> devices = inventory->List();
  EXPECT_EQ(inventory->Read(devices[0])->lost, "") << "that was before";
  machine_.Xid(0, 48);
  EXPECT_EQ(inventory->Read(devices[1])->lost, "");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(inventory->Read(devices[0])->lost, "Xid 48: a double bit error of its memory");
  }
}

TEST_F(NvmlInventory, WhatAProgramDidIsNoLossOfTheDevice) {
  Load("nvml");
  machine_.Device("GPU-1b2c", 80 * kGiB, 0, "H100");
  const auto inventory = Open();
  ASSERT_NE(inventory, nullptr);
  const Device device = inventory->List().at(0);
  // Nor what was contained (94), replaced (63), or is unknown.
  for (const int xid : {13, 31, 43, 45, 63, 69, 94, 9999}) machine_.Xid(0, xid);
  EXPECT_EQ(inventory->Read(device)->lost, "");
  machine_.Xid(0, 119);
  EXPECT_EQ(inventory->Read(device)->lost, "Xid 119: its system processor (GSP) does not answer");
}

TEST_F(NvmlInventory, AnErrorOfOneInstanceIsNoLossOfTheOthers) {
  Load("nvml");
  machine_.Device("GPU-1b2c", 80 * kGiB, 0, "H100");
  machine_.MigMode(0);
  machine_.Instance(0, "MIG-aaaa", 40 * kGiB, 0, 1, "a");
  machine_.Instance(0, "MIG-bbbb", 20 * kGiB, 0, 2, "b");
  const auto inventory = Open();
  ASSERT_NE(inventory, nullptr);
  const std::vector<Device> devices = inventory->List();
  machine_.Xid(0, 95, "2");
  EXPECT_EQ(inventory->Read(devices[0])->lost, "");
  EXPECT_EQ(inventory->Read(devices[1])->lost, "Xid 95: an uncontained error of its memory");
  machine_.Xid(0, 79);
  EXPECT_EQ(inventory->Read(devices[0])->lost, "Xid 79: it has fallen off the bus");
}

// ---- the other daemon

TEST(MpsDaemon, RunsWhereItsNumberIsThatOfALivingProcess) {
  const testing::TestFolder folder;
  EXPECT_FALSE(RunsMps(folder.path()));
  folder.Write("nvidia-cuda-mps-control.pid", std::to_string(getpid()) + "\n");
  EXPECT_TRUE(RunsMps(folder.path()));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  folder.Write("nvidia-cuda-mps-control.pid", std::to_string(child) + "\n");
  EXPECT_FALSE(RunsMps(folder.path()));
  folder.Write("nvidia-cuda-mps-control.pid", "none");
  EXPECT_FALSE(RunsMps(folder.path()));
}

}  // namespace
}  // namespace tune
