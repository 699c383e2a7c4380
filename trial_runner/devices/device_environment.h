// What a trial's processes find in their environment of the devices that it was given.
//
//   CUDA_VISIBLE_DEVICES                  by UUID, or by place where devices are logical
//   TUNE_GPU_SHARE, TUNE_GPU_MEMORY_BYTES the share (0.5) of a device that is not all its own, and
//                                         how much of its memory it may use, where that is known
//   CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT
//                                         where an MPS daemon runs, which then holds it to them as
//                                         they are when it begins to use the device
//   NCCL_SOCKET_IFNAME, NCCL_IB_DISABLE, NCCL_DEBUG
//                                         of an attempt of several ranks: where NCCL may listen,
//                                         and that it says in the attempt's log what went wrong
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/resources.h"

namespace tune {

using DeviceEnvironment = std::vector<std::pair<std::string, std::string>>;

// Empty for an attempt without devices.
DeviceEnvironment EnvironmentOf(const std::vector<DeviceSlice>& slices,
                                const std::vector<Device>& devices, bool has_mps);

// What ranks that share an attempt call for besides: NCCL, where they use it, listens on this
// interface ("eth0") alone; empty: on the loopback alone, since all of them are on this machine.
DeviceEnvironment RankEnvironment(const std::string& interface);

// Whether the daemon holds what runs so to its share's memory.
bool IsHeldByMps(const DeviceEnvironment& environment);

// Whether both see the same devices, whatever their parts of them.
bool SeeTheSame(const DeviceEnvironment& a, const DeviceEnvironment& b);

}  // namespace tune
