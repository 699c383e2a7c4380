// libFuzzer: any line is the status of a device or is refused, and what is read is written back the
// same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tuner/device_status.h"

tune::FuzzStart tune::StartOfFuzz() {
  return {{R"({"worker":"local","device":1,"name":"NVIDIA L4","uuid":"GPU-7","memory_bytes":24,)"
           R"("used_bytes":16,"slices":[{"trial":0,"gpu":0.5,"memory_bytes":12}]})",
           R"({"worker":"","device":0,"name":"","uuid":"","memory_bytes":0,"used_bytes":null,)"
           R"("slices":[]})"},
          50'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto status = tune::DecodeDeviceStatus({reinterpret_cast<const char*>(data), size});
  if (!status.ok()) return 0;
  const auto again = tune::DecodeDeviceStatus(tune::EncodeDeviceStatus(*status));
  TUNE_CHECK(again.ok() && *again == *status);
  return 0;
}
