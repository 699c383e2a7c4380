// NVML by its C interface, with own prototypes: its header comes with the CUDA toolkit, which a
// worker does not need. Names, layouts and values are those of NVIDIA's nvml.h.
#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "trial_runner/devices/device_inventory.h"

namespace tune {
namespace {

using NvmlReturn = int;
using NvmlDevice = struct NvmlDeviceHandle*;

enum : NvmlReturn {
  kSuccess = 0,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kGpuNotFound = 28,
  kUnknown = 999,
};

// nvmlMemory_t.
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(NvmlMemory) == 24);

// nvmlProcessInfo_v1_t and nvmlProcessInfo_v2_t.
struct NvmlProcessV1 {
  unsigned int pid;
  unsigned long long used_gpu_memory;
};
static_assert(sizeof(NvmlProcessV1) == 16);
struct NvmlProcessV2 {
  unsigned int pid;
  unsigned long long used_gpu_memory;
  unsigned int gpu_instance_id;
  unsigned int compute_instance_id;
};
static_assert(sizeof(NvmlProcessV2) == 24);
constexpr unsigned long long kNotAvailable = std::numeric_limits<unsigned long long>::max();

constexpr unsigned int kNameBytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, ..._UUID_V2_...

struct Nvml {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  const char* (*error_string)(NvmlReturn) = nullptr;
  NvmlReturn (*count)(unsigned int*) = nullptr;
  NvmlReturn (*handle_by_index)(unsigned int, NvmlDevice*) = nullptr;
  NvmlReturn (*name)(NvmlDevice, char*, unsigned int) = nullptr;
  NvmlReturn (*uuid)(NvmlDevice, char*, unsigned int) = nullptr;
  NvmlReturn (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  // The third version of this call has had two layouts under one name: the drivers 535.43 to 535.86
  // filled longer entries. These two have one each.
  NvmlReturn (*processes_v2)(NvmlDevice, unsigned int*, NvmlProcessV2*) = nullptr;
  NvmlReturn (*processes_v1)(NvmlDevice, unsigned int*, NvmlProcessV1*) = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The library stays loaded: what it has begun in the driver may outlive a call.
Result<Nvml> LoadNvml() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NotFound("no NVML: libnvidia-ml.so.1 is not here");
  Nvml nvml;
  const bool is_whole = Find(library, "nvmlInit_v2", nvml.init) &&
                        Find(library, "nvmlShutdown", nvml.shutdown) &&
                        Find(library, "nvmlErrorString", nvml.error_string) &&
                        Find(library, "nvmlDeviceGetCount_v2", nvml.count) &&
                        Find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle_by_index) &&
                        Find(library, "nvmlDeviceGetName", nvml.name) &&
                        Find(library, "nvmlDeviceGetUUID", nvml.uuid) &&
                        Find(library, "nvmlDeviceGetMemoryInfo", nvml.memory);
  if (!is_whole)
    return Unavailable("NVML: libnvidia-ml.so.1 lacks calls that it always had; is it NVIDIA's?");
  Find(library, "nvmlDeviceGetComputeRunningProcesses_v2", nvml.processes_v2);
  Find(library, "nvmlDeviceGetComputeRunningProcesses", nvml.processes_v1);
  return nvml;
}

int64_t Bytes(unsigned long long bytes) {
  return static_cast<int64_t>(
      std::min<unsigned long long>(bytes, std::numeric_limits<int64_t>::max()));
}

bool IsLoss(NvmlReturn error) {
  return error == kGpuIsLost || error == kResetRequired || error == kGpuNotFound;
}

class NvmlInventory final : public DeviceInventory {
 public:
  explicit NvmlInventory(const Nvml& nvml) : nvml_(nvml) {}
  ~NvmlInventory() override { nvml_.shutdown(); }

  std::vector<Device> List() override {
    std::vector<Device> devices;
    unsigned int count = 0;
    if (nvml_.count(&count) != kSuccess) return devices;
    for (unsigned int i = 0; i < count; ++i) {
      char name[kNameBytes] = {};
      char uuid[kNameBytes] = {};
      NvmlMemory memory = {};
      NvmlDevice handle = nullptr;
      if (nvml_.handle_by_index(i, &handle) != kSuccess ||
          nvml_.name(handle, name, kNameBytes) != kSuccess ||
          nvml_.uuid(handle, uuid, kNameBytes) != kSuccess ||
          nvml_.memory(handle, &memory) != kSuccess) {
        continue;
      }
      devices.push_back(Device{i, name, Bytes(memory.total), uuid});
    }
    return devices;
  }

  Result<DeviceReading> Read(const Device& device) override {
    DeviceReading reading;
    reading.device = device.index;
    NvmlDevice handle = nullptr;
    NvmlMemory memory = {};
    NvmlReturn error = nvml_.handle_by_index(static_cast<unsigned int>(device.index), &handle);
    if (error == kSuccess) error = nvml_.memory(handle, &memory);
    if (error == kSuccess) error = ReadProcesses(handle, reading.processes);
    if (IsLoss(error)) {
      reading.lost = Words(error);
      return reading;
    }
    if (error != kSuccess) return Unavailable(Words(error));
    reading.memory_bytes = Bytes(memory.total);
    reading.used_bytes = Bytes(memory.used);
    return reading;
  }

 private:
  std::string Words(NvmlReturn error) const {
    return "NVML: " + std::string(nvml_.error_string(error)) + " (" + std::to_string(error) + ")";
  }

  NvmlReturn ReadProcesses(NvmlDevice handle, std::vector<DeviceProcess>& out) const {
    if (nvml_.processes_v2 != nullptr) return Ask<NvmlProcessV2>(nvml_.processes_v2, handle, out);
    if (nvml_.processes_v1 != nullptr) return Ask<NvmlProcessV1>(nvml_.processes_v1, handle, out);
    return kSuccess;
  }

  // Asked with room for more until there is enough.
  template <typename Process>
  static NvmlReturn Ask(NvmlReturn (*ask)(NvmlDevice, unsigned int*, Process*), NvmlDevice handle,
                        std::vector<DeviceProcess>& out) {
    constexpr int kTriesMax = 4;
    std::vector<Process> processes(32);
    NvmlReturn error = kInsufficientSize;
    for (int i = 0; i < kTriesMax && error == kInsufficientSize; ++i) {
      auto count = static_cast<unsigned int>(processes.size());
      error = ask(handle, &count, processes.data());
      if (error == kInsufficientSize) {
        processes.resize(std::max(2 * processes.size(), size_t{count} + 16));
      } else if (error == kSuccess) {
        processes.resize(std::min(processes.size(), size_t{count}));
      }
    }
    if (error != kSuccess) return IsLoss(error) ? error : kSuccess;  // Not every device tells.
    for (const Process& process : processes) {
      if (process.used_gpu_memory == kNotAvailable) continue;
      out.push_back({process.pid, Bytes(process.used_gpu_memory)});
    }
    return kSuccess;
  }

  const Nvml nvml_;
};

}  // namespace

Result<std::unique_ptr<DeviceInventory>> OpenNvml() {
  TUNE_ASSIGN_OR_RETURN(const Nvml nvml, LoadNvml());
  const NvmlReturn error = nvml.init();
  if (error == kDriverNotLoaded) return NotFound("no NVIDIA driver is loaded");
  if (error != kSuccess) {
    return Unavailable("NVML: " + std::string(nvml.error_string(error)) + " (" +
                       std::to_string(error) + ")");
  }
  return std::unique_ptr<DeviceInventory>(std::make_unique<NvmlInventory>(nvml));
}

}  // namespace tune
