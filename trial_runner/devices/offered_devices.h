// Which devices of a machine are offered to trials: those that CUDA_VISIBLE_DEVICES leaves, as many
// as were asked for.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/resources.h"
#include "core/status.h"

namespace tune {

// What a list as in CUDA_VISIBLE_DEVICES leaves of `all`, in its order: places in the driver's list
// (nvidia-smi's numbers: those of CUDA_DEVICE_ORDER=PCI_BUS_ID), or the beginning of a UUID that no
// other has, which alone names an instance of a device in MIG mode. As in CUDA, the list ends at
// the first entry that is none of these, or comes twice.
std::vector<Device> VisibleDevices(const std::vector<Device>& all, std::string_view list);

// The first `wanted` of them, all where nothing is said. `has_driver`: the machine has devices,
// seen or hidden; where it has none, and there alone, logical ones are made. kInvalidArgument: more
// were asked for than there are.
Result<std::vector<Device>> OfferedDevices(std::optional<int64_t> wanted,
                                           const std::vector<Device>& visible, bool has_driver);

}  // namespace tune
