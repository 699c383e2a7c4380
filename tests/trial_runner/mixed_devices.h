// A worker whose devices differ in memory, and requests for a part of one.
#pragma once

#include <cstdint>

#include "core/resources.h"

namespace tune {

inline constexpr int64_t kGiB = int64_t{1} << 30;

inline WorkerCapacity MixedDevices() {
  return {16'000, {{0, "H100", 80 * kGiB, "GPU-a"}, {1, "L4", 24 * kGiB, "GPU-b"}}};
}

inline ResourceRequest Share(int64_t milli, int64_t asked = 0, int64_t learned = 0) {
  ResourceRequest request;
  request.gpu_milli = milli;
  request.gpu_memory_bytes = asked;
  request.learned_gpu_memory_bytes = learned;
  return request;
}

}  // namespace tune
