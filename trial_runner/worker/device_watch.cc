#include "trial_runner/worker/device_watch.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/posix/threads.h"
#include "trial_runner/devices/process_numbers.h"

namespace tune {
namespace {

constexpr std::chrono::milliseconds kPause(500);
constexpr std::chrono::seconds kPatience(1);
constexpr int kSilentLooksMax = 10;  // Until a device that does not answer is taken for lost.

}  // namespace

struct DeviceWatch::State {
  std::unique_ptr<DeviceInventory> inventory;  // Of the thread alone.
  std::vector<Device> devices;
  std::function<void(std::vector<DeviceReading>)> tell;

  std::mutex mutex;
  std::condition_variable changed;
  bool shall_end = false;
  bool has_ended = false;

  std::vector<DeviceReading> Look(std::map<int64_t, int>& silent_looks) const {
    std::vector<DeviceReading> readings;
    const bool sees_processes = SeesAllProcesses();
    for (const Device& device : devices) {
      Result<DeviceReading> reading = inventory->Read(device);
      int& silent = silent_looks[device.index];
      silent = reading.ok() ? 0 : silent + 1;
      if (reading.ok()) {
        readings.push_back(*std::move(reading));
        if (!sees_processes) readings.back().processes.clear();
      } else if (silent >= kSilentLooksMax) {
        DeviceReading lost;
        lost.device = device.index;
        lost.lost = reading.status().message();
        readings.push_back(std::move(lost));
      }
    }
    return readings;
  }

  void Run() {
    std::map<int64_t, int> silent_looks;
    std::unique_lock lock(mutex);
    while (!shall_end) {
      lock.unlock();
      std::vector<DeviceReading> readings = Look(silent_looks);
      lock.lock();
      if (!shall_end) tell(std::move(readings));
      changed.wait_for(lock, kPause, [this] { return shall_end; });
    }
    has_ended = true;
    changed.notify_all();
  }
};

DeviceWatch::DeviceWatch(std::unique_ptr<DeviceInventory> inventory, std::vector<Device> devices,
                         std::function<void(std::vector<DeviceReading>)> tell)
    : state_(std::make_shared<State>()) {
  std::erase_if(devices, [](const Device& device) { return device.uuid.empty(); });
  if (inventory == nullptr || devices.empty()) {
    state_->has_ended = true;
    return;
  }
  state_->inventory = std::move(inventory);
  state_->devices = std::move(devices);
  state_->tell = std::move(tell);
  BeginThread([state = state_] { state->Run(); }).detach();
}

DeviceWatch::~DeviceWatch() {
  std::unique_lock lock(state_->mutex);
  state_->shall_end = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kPatience, [this] { return state_->has_ended; });
}

}  // namespace tune
