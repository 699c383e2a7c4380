// MobileNetV2 on the CPU. See models/mobilenet_v2.h for what it does and cpu/pointwise.h for how
// memory is spared: of each convolution the raw output is kept, of each block its input, and two
// gradients at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "models/mobilenet_v2.h"

namespace tune::models::cpu {

std::unique_ptr<MobileNetV2> CreateNetwork(const NetworkOptions& options, uint64_t seed);

}  // namespace tune::models::cpu
