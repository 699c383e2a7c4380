// The threads of a launch.
//
// Thread rule: whoever calls holds the device's mutex.
#pragma once

#include <functional>

#include "tests/standin_cuda/device.h"

namespace standin_cuda {

// `thread` for each thread of each block, both in a drawn order.
void RunGrid(const std::function<void()>& thread, dim3 grid, dim3 block, Device& device);

}  // namespace standin_cuda
