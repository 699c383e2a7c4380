// Whether NVIDIA's MPS control daemon runs here. What its clients may use of a device it enforces;
// without it, CUDA programs share a device without limits.
//
// Thread rule: any thread.
#pragma once

#include <string>

namespace tune {

// `pipe_directory`: CUDA_MPS_PIPE_DIRECTORY, or empty for its default, /tmp/nvidia-mps. The daemon
// leaves its process number there; one that was killed leaves it, too, and does not count.
bool RunsMps(const std::string& pipe_directory);

}  // namespace tune
