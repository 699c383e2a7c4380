// The seam to the devices of this machine: which there are, whether they still answer, and who uses
// how much of their memory. The real one is NVML, loaded at run time (nvml_inventory.cc); nothing
// links it.
//
// Thread rule: one thread at a time. A driver that is unwell may keep a call from returning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/resources.h"
#include "core/status.h"

namespace tune {

// By a process's number as the driver knows it: in a container of its own process numbers, not
// ours.
struct DeviceProcess {
  int64_t pid = 0;
  int64_t memory_bytes = 0;
  friend bool operator==(const DeviceProcess&, const DeviceProcess&) = default;
};

struct DeviceReading {
  int64_t device = 0;  // Device::index.
  int64_t memory_bytes = 0;
  int64_t used_bytes = 0;  // By whomever, the driver too.
  std::vector<DeviceProcess> processes;
  // Why the device cannot be used any more; empty: it answers.
  std::string lost;
};

class DeviceInventory {
 public:
  virtual ~DeviceInventory() = default;
  // In the driver's order, which is that of nvidia-smi; each with its uuid. A device that does not
  // answer is left out. Of one in MIG mode its instances are there in its place, after all whole
  // ones, each by itself a device.
  virtual std::vector<Device> List() = 0;
  // Of a device that was listed. kUnavailable: nothing can be said of it now, which may pass.
  virtual Result<DeviceReading> Read(const Device& device) = 0;
};

// NVML's. kNotFound: this machine has no such driver, or it has no device; kUnavailable, with the
// driver's words: it is there and cannot be used.
Result<std::unique_ptr<DeviceInventory>> OpenNvml();

}  // namespace tune
