// How ranks that already talk to each other through the host connect their cards: they tell each
// other which device each has and whether it has NCCL, and one makes the id that all connect by.
//
// Thread rule: as AllReduce and Nccl.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/status.h"
#include "models/cuda/nccl.h"
#include "models/ranks/all_reduce.h"

namespace tune::models::cuda {

using DeviceUuid = std::array<uint8_t, 16>;

// All ranks call it, each with its device, which is the current one. kFailedPrecondition, on all of
// them alike, with the reason: one has no NCCL, two share a device (NCCL has no such ranks), or the
// connection of one failed. kUnavailable: another rank is gone.
Result<std::unique_ptr<Nccl>> MeetByNccl(AllReduce& ranks, const DeviceUuid& device);

}  // namespace tune::models::cuda
