// The devices that NVML tells of. Of one in MIG mode its instances take its place: nothing runs on
// the device itself.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "trial_runner/devices/device_inventory.h"
#include "trial_runner/devices/nvml_library.h"
#include "trial_runner/devices/xid.h"

namespace tune {
namespace {

int64_t Bytes(unsigned long long bytes) {
  return static_cast<int64_t>(
      std::min<unsigned long long>(bytes, std::numeric_limits<int64_t>::max()));
}

bool IsLoss(NvmlReturn error) {
  return error == kNvmlGpuIsLost || error == kNvmlResetRequired || error == kNvmlGpuNotFound;
}

class NvmlInventory final : public DeviceInventory {
 public:
  explicit NvmlInventory(const NvmlLibrary& nvml) : nvml_(nvml) {
    const bool has_set = nvml_.has_events() && nvml_.event_set_create(&events_) == kNvmlSuccess;
    if (!has_set) events_ = nullptr;
  }
  ~NvmlInventory() override {
    if (events_ != nullptr) nvml_.event_set_free(events_);
    nvml_.shutdown();
  }

  std::vector<Device> List() override {
    std::vector<Device> whole;
    std::vector<Device> instances;
    unsigned int count = 0;
    if (nvml_.count(&count) != kNvmlSuccess) return whole;
    for (unsigned int i = 0; i < count; ++i) {
      NvmlDevice handle = nullptr;
      if (nvml_.handle_by_index(i, &handle) != kNvmlSuccess) continue;
      ListenTo(handle, i);
      if (IsInMigMode(handle)) {
        ListInstances(handle, i, instances);
      } else if (std::optional<Device> device = Describe(handle)) {
        device->index = i;
        whole.push_back(*std::move(device));
      }
    }
    // Devices keep nvidia-smi's numbers, instances have those after them.
    for (Device& instance : instances) {
      instance.index = count++;
      whole.push_back(std::move(instance));
    }
    return whole;
  }

  Result<DeviceReading> Read(const Device& device) override {
    TakeEvents();
    DeviceReading reading;
    reading.device = device.index;
    reading.lost = LossOf(device);
    if (!reading.lost.empty()) return reading;
    NvmlDevice handle = nullptr;
    NvmlMemory memory = {};
    NvmlReturn error = FindHandle(device, handle);
    if (error == kNvmlSuccess) error = nvml_.memory(handle, &memory);
    if (error == kNvmlSuccess) error = ReadProcesses(handle, reading.processes);
    if (IsLoss(error) || (error == kNvmlNotFound && IsInstance(device))) {
      reading.lost = Words(error);
      return reading;
    }
    if (error != kNvmlSuccess) return Unavailable(Words(error));
    reading.memory_bytes = Bytes(memory.total);
    reading.used_bytes = Bytes(memory.used);
    return reading;
  }

 private:
  // Of a device in MIG mode.
  struct Instance {
    unsigned int parent = 0;  // Its place in the driver's list.
    unsigned int id = 0;      // Of the GPU instance, which may hold several of these.
  };
  // What an Xid ended: a device, or an instance of it alone.
  struct Loss {
    unsigned int device = 0;
    unsigned int instance = kNvmlNoInstance;
    std::string why;
  };

  std::string Words(NvmlReturn error) const {
    return "NVML: " + std::string(nvml_.error_string(error)) + " (" + std::to_string(error) + ")";
  }

  // Without its index.
  std::optional<Device> Describe(NvmlDevice handle) const {
    char name[kNvmlNameBytes] = {};
    char uuid[kNvmlNameBytes] = {};
    NvmlMemory memory = {};
    if (nvml_.name(handle, name, kNvmlNameBytes) != kNvmlSuccess ||
        nvml_.uuid(handle, uuid, kNvmlNameBytes) != kNvmlSuccess ||
        nvml_.memory(handle, &memory) != kNvmlSuccess) {
      return std::nullopt;
    }
    return Device{0, name, Bytes(memory.total), uuid};
  }

  // ---- MIG

  bool IsInMigMode(NvmlDevice handle) const {
    unsigned int current = 0;
    unsigned int pending = 0;
    return nvml_.has_mig() && nvml_.mig_mode(handle, &current, &pending) == kNvmlSuccess &&
           current == kNvmlMigEnabled;
  }

  void ListInstances(NvmlDevice parent, unsigned int place, std::vector<Device>& out) {
    unsigned int count_max = 0;
    if (nvml_.mig_count_max(parent, &count_max) != kNvmlSuccess) return;
    for (unsigned int i = 0; i < count_max; ++i) {
      Instance instance{place, 0};
      NvmlDevice handle = nullptr;
      // Not each place of the device has an instance.
      if (nvml_.mig_handle(parent, i, &handle) != kNvmlSuccess ||
          nvml_.gpu_instance_id(handle, &instance.id) != kNvmlSuccess) {
        continue;
      }
      std::optional<Device> device = Describe(handle);
      if (!device) continue;
      instances_[device->uuid] = instance;
      out.push_back(*std::move(device));
    }
  }

  // An instance is as well as the device that it is of.
  NvmlReturn FindHandle(const Device& device, NvmlDevice& handle) const {
    if (!IsInstance(device)) {
      return nvml_.handle_by_index(static_cast<unsigned int>(device.index), &handle);
    }
    const auto instance = instances_.find(device.uuid);
    if (instance == instances_.end()) return kNvmlNotFound;
    const NvmlReturn error = nvml_.handle_by_index(instance->second.parent, &handle);
    return error == kNvmlSuccess ? nvml_.handle_by_uuid(device.uuid.c_str(), &handle) : error;
  }

  // ---- Xid

  // A device that knows no events is known to be lost by what is read of it.
  void ListenTo(NvmlDevice handle, unsigned int place) {
    if (events_ == nullptr || places_.contains(handle)) return;
    if (nvml_.register_events(handle, kNvmlXidEvent, events_) == kNvmlSuccess) {
      places_[handle] = place;
    }
  }

  void TakeEvents() {
    NvmlEvent event = {};
    while (events_ != nullptr && nvml_.event_set_wait(events_, &event, 0) == kNvmlSuccess) {
      const auto place = places_.find(event.device);
      const std::string_view words = FatalXid(event.data);
      if (event.type != kNvmlXidEvent || place == places_.end() || words.empty()) continue;
      losses_.push_back({place->second, event.gpu_instance_id,
                         "Xid " + std::to_string(event.data) + ": " + std::string(words)});
    }
  }

  // Empty: it is not lost.
  std::string LossOf(const Device& device) const {
    const auto found = instances_.find(device.uuid);
    const bool is_instance = IsInstance(device) && found != instances_.end();
    for (const Loss& loss : losses_) {
      const bool is_of_all = loss.instance == kNvmlNoInstance;
      const bool is_its = is_instance ? loss.device == found->second.parent &&
                                            (is_of_all || loss.instance == found->second.id)
                                      : loss.device == device.index;
      if (is_its) return loss.why;
    }
    return "";
  }

  // ---- processes

  NvmlReturn ReadProcesses(NvmlDevice handle, std::vector<DeviceProcess>& out) const {
    if (nvml_.processes_v2 != nullptr) return Ask<NvmlProcessV2>(nvml_.processes_v2, handle, out);
    if (nvml_.processes_v1 != nullptr) return Ask<NvmlProcessV1>(nvml_.processes_v1, handle, out);
    return kNvmlSuccess;
  }

  // Asked with room for more until there is enough.
  template <typename Process>
  static NvmlReturn Ask(NvmlReturn (*ask)(NvmlDevice, unsigned int*, Process*), NvmlDevice handle,
                        std::vector<DeviceProcess>& out) {
    constexpr int kTriesMax = 4;
    std::vector<Process> processes(32);
    NvmlReturn error = kNvmlInsufficientSize;
    for (int i = 0; i < kTriesMax && error == kNvmlInsufficientSize; ++i) {
      auto count = static_cast<unsigned int>(processes.size());
      error = ask(handle, &count, processes.data());
      if (error == kNvmlInsufficientSize) {
        processes.resize(std::max(2 * processes.size(), size_t{count} + 16));
      } else if (error == kNvmlSuccess) {
        processes.resize(std::min(processes.size(), size_t{count}));
      }
    }
    if (error != kNvmlSuccess)
      return IsLoss(error) ? error : kNvmlSuccess;  // Not every device tells.
    for (const Process& process : processes) {
      if (process.used_gpu_memory == kNvmlNotAvailable) continue;
      out.push_back({process.pid, Bytes(process.used_gpu_memory)});
    }
    return kNvmlSuccess;
  }

  const NvmlLibrary nvml_;
  NvmlEventSet events_ = nullptr;
  std::map<NvmlDevice, unsigned int> places_;  // Of devices whose events are told.
  std::map<std::string, Instance> instances_;  // By UUID, as last listed.
  std::vector<Loss> losses_;
};

}  // namespace

Result<std::unique_ptr<DeviceInventory>> OpenNvml() {
  TUNE_ASSIGN_OR_RETURN(const NvmlLibrary nvml, LoadNvml());
  const NvmlReturn error = nvml.init();
  if (error == kNvmlDriverNotLoaded) return NotFound("no NVIDIA driver is loaded");
  if (error != kNvmlSuccess) {
    return Unavailable("NVML: " + std::string(nvml.error_string(error)) + " (" +
                       std::to_string(error) + ")");
  }
  return std::unique_ptr<DeviceInventory>(std::make_unique<NvmlInventory>(nvml));
}

}  // namespace tune
