// libFuzzer: any list as in CUDA_VISIBLE_DEVICES leaves some of the devices, each once.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "trial_runner/devices/offered_devices.h"

tune::FuzzStart tune::StartOfFuzz() {
  return {{"0,1,2", "GPU-1b2c,GPU-77", " 1 , 2", "-1", "0,0", "MIG-1b2c"}, 100'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<tune::Device> all = {{0, "a", 1, "GPU-1b2c"},
                                                {1, "b", 2, "GPU-1b9f"},
                                                {2, "c", 3, "GPU-77aa"},
                                                {3, "d", 4, "MIG-1b2c"}};
  std::set<int64_t> indices;
  for (const tune::Device& device :
       tune::VisibleDevices(all, {reinterpret_cast<const char*>(data), size})) {
    TUNE_CHECK(device == all.at(static_cast<size_t>(device.index)));
    TUNE_CHECK(indices.insert(device.index).second);
  }
  return 0;
}
