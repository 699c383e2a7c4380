// Looks at the worker's devices again and again, on a thread of its own: a driver that is unwell
// may keep a call for minutes, and the worker has a lease to keep.
//
// Thread rule: made and ended by one thread; `tell` is called from its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/resources.h"
#include "trial_runner/devices/device_inventory.h"

namespace tune {

class DeviceWatch {
 public:
  // `devices`: those that are offered; logical ones are passed over. Readings come in their order;
  // a device of which nothing can be said is left out, and after some such looks told as lost.
  DeviceWatch(std::unique_ptr<DeviceInventory> inventory, std::vector<Device> devices,
              std::function<void(std::vector<DeviceReading>)> tell);
  // `tell` is not called any more. A look that does not return is left behind.
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tune
