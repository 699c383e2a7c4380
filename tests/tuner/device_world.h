// Workers with devices of a driver, in the world around the controller.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/check.h"
#include "tests/tuner/controller_world.h"

namespace tune::testing {

// With devices of so much memory each.
inline WorkerId JoinWithDevices(ControllerWorld& world, int64_t cpus,
                                const std::vector<int64_t>& memory) {
  WorkerCapacity capacity;
  capacity.cpu_milli = cpus * kWholeMilli;
  for (const int64_t bytes : memory) {
    const auto i = static_cast<int64_t>(capacity.devices.size());
    capacity.devices.push_back(Device{i, "card", bytes, "GPU-" + std::to_string(i)});
  }
  return world.Join(capacity);
}

// As the worker would tell it: the device, then the ends of what ran there.
inline std::vector<Event> LoseDevice(ControllerWorld& world, WorkerId worker, int64_t device) {
  std::vector<Event> events = {DeviceFellAway{worker, {device, "it fell off"}}};
  std::vector<TrialNumber> there;
  for (const auto& [trial, attempt] : world.Running(worker)) {
    for (const DeviceSlice& slice : attempt.slices) {
      if (slice.device == device) there.push_back(trial);
    }
  }
  for (const TrialNumber trial : there) {
    events.push_back(world.End(worker, trial, Outcome::kLost, "it fell off"));
  }
  return events;
}

// What runs there has no more of a device's memory than it has.
inline void CheckDeviceMemory(ControllerWorld& world, WorkerId worker) {
  std::map<int64_t, int64_t> used;
  for (const auto& [trial, attempt] : world.Running(worker)) {
    for (const DeviceSlice& slice : attempt.slices) used[slice.device] += slice.memory_bytes;
  }
  for (const Device& device : world.worker_rows.at(worker).capacity.devices) {
    TUNE_CHECK(device.memory_bytes == 0 || used[device.index] <= device.memory_bytes);
  }
}

}  // namespace tune::testing
