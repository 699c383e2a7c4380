// A driver of long ago has the first version of a call alone, with shorter entries.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/standin_nvml/standin_machine.h"
#include "trial_runner/devices/device_inventory.h"

namespace tune {
namespace {

TEST(OldNvml, IsAskedByTheCallsThatItHas) {
  const testing::TestFolder folder;
  testing::StandInMachine machine(folder / "nvml");
  machine.Device("GPU-1b2c", 16'000, 900, "Tesla V100");
  machine.Process(0, 1, 300);
  machine.Process(0, 2, 600);
  const char* const build = std::getenv("TUNE_BUILD_DIR");
  const std::string path =
      std::string(build == nullptr ? "build/release" : build) + "/tests/nvml_old/libnvidia-ml.so.1";
  ASSERT_NE(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  const auto inventory = OpenNvml();
  ASSERT_TRUE(inventory.ok()) << inventory.status().message();
  const auto reading = (*inventory)->Read((*inventory)->List().at(0));
  ASSERT_TRUE(reading.ok());
  EXPECT_THAT(reading->processes,
              ::testing::ElementsAre(DeviceProcess{1, 300}, DeviceProcess{2, 600}));
}

}  // namespace
}  // namespace tune
