// What a trial needs and what a device gives, in integers: thousandths of a CPU or GPU, bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tune {

inline constexpr int64_t kWholeMilli = 1000;
// Thousandths as a person counts: CPUs, GPUs.
inline double InWholes(int64_t milli) { return static_cast<double>(milli) / kWholeMilli; }

// Per trial, as a space file's `resources` says. gpu_milli is below 1000 (a share of one device) or
// a multiple of it.
struct ResourceRequest {
  int64_t cpu_milli = kWholeMilli;
  int64_t gpu_milli = 0;
  int64_t gpu_memory_bytes = 0;  // 0: not asked for.
  int64_t memory_bytes = 0;      // 0: no limit.
  int64_t workers = 1;           // Data-parallel ranks.
  bool spread = false;           // They may be on several workers.
  // The most that trials like it were seen to use of a device: a share has no less of its memory.
  // Does not count where gpu_memory_bytes is asked for.
  int64_t learned_gpu_memory_bytes = 0;
  friend bool operator==(const ResourceRequest&, const ResourceRequest&) = default;
};

// A device of a worker; index is its place there.
struct Device {
  int64_t index = 0;
  std::string name;
  int64_t memory_bytes = 0;  // 0: unknown (a logical device).
  std::string uuid = {};     // The driver's ("GPU-...", "MIG-..."); empty: a logical device.
  friend bool operator==(const Device&, const Device&) = default;
};

// Whether it is an instance of a device in MIG mode, not a whole one: a process sees one of them.
inline bool IsInstance(const Device& device) { return device.uuid.starts_with("MIG-"); }

// A share of one device, given to one attempt. milli is 1 .. 1000; of the device's memory it may
// use so much (0: the device's memory is not known).
struct DeviceSlice {
  int64_t device = 0;
  int64_t milli = 0;
  int64_t memory_bytes = 0;
  friend auto operator<=>(const DeviceSlice&, const DeviceSlice&) = default;
};

// What a worker offers.
struct WorkerCapacity {
  int64_t cpu_milli = 0;
  std::vector<Device> devices;
  friend bool operator==(const WorkerCapacity&, const WorkerCapacity&) = default;
};

}  // namespace tune
