// The devices of this machine as this program may use them, looked up once.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/resources.h"
#include "trial_runner/devices/device_inventory.h"

namespace tune {

struct MachineDevices {
  std::vector<Device> visible;  // By CUDA_VISIBLE_DEVICES of this program's environment.
  std::unique_ptr<DeviceInventory> inventory;  // Null: there is no driver.
  bool has_any = false;                        // Seen or hidden.
  std::string warning;                         // A driver that cannot be used; mostly empty.
};
MachineDevices LookUpDevices();

}  // namespace tune
