#include "trial_runner/devices/machine_devices.h"

#include <cstdlib>
#include <utility>

#include "trial_runner/devices/offered_devices.h"

namespace tune {

MachineDevices LookUpDevices() {
  MachineDevices found;
  Result<std::unique_ptr<DeviceInventory>> inventory = OpenNvml();
  if (!inventory.ok()) {
    if (inventory.status().code() != StatusCode::kNotFound) {
      found.warning = inventory.status().message() + "; no device is offered";
    }
    return found;
  }
  found.inventory = *std::move(inventory);
  found.visible = found.inventory->List();
  found.has_any = !found.visible.empty();
  // Empty is another thing than not set: it hides all.
  if (const char* const list = std::getenv("CUDA_VISIBLE_DEVICES")) {
    found.visible = VisibleDevices(found.visible, list);
  }
  return found;
}

}  // namespace tune
