// A library in the place of NVIDIA's libnvidia-ml.so.1, for tests: the calls that we use, with the
// names, layouts and values of NVIDIA's nvml.h. What it answers stands in the file that
// TUNE_STANDIN_NVML names, read at each call:
//
//   driver ERROR                 what nvmlInit answers; 0 without such a line
//   device UUID TOTAL USED NAME  in order; the name to the line's end
//   process INDEX PID BYTES      a process on that device; BYTES -: not available
//   fail INDEX ERROR             calls about that device answer so
//   mig INDEX                    that device is in MIG mode; its instances follow, in order:
//   instance INDEX UUID TOTAL USED GPU_INSTANCE NAME
//   instance_process INDEX PLACE PID BYTES   on an instance, by its place there
//   xid INDEX NUMBER GPU_INSTANCE            an event; GPU_INSTANCE -: of the whole device. Event
//                                            sets get those that come after they were created.
//
// STANDIN_IS_OLD: a driver before 450, which has no nvmlDeviceGetComputeRunningProcesses_v2, no MIG
// and no nvmlEventSetWait_v2.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using nvmlReturn_t = int;
constexpr nvmlReturn_t NVML_SUCCESS = 0;
constexpr nvmlReturn_t NVML_ERROR_UNINITIALIZED = 1;
constexpr nvmlReturn_t NVML_ERROR_INVALID_ARGUMENT = 2;
constexpr nvmlReturn_t NVML_ERROR_NOT_SUPPORTED = 3;
constexpr nvmlReturn_t NVML_ERROR_NOT_FOUND = 6;
constexpr nvmlReturn_t NVML_ERROR_INSUFFICIENT_SIZE = 7;
constexpr nvmlReturn_t NVML_ERROR_TIMEOUT = 10;
constexpr unsigned long long nvmlEventTypeXidCriticalError = 8;

struct nvmlDevice_st {
  unsigned int index;
  int instance;  // Its place on that device; -1: the device itself.
};
using nvmlDevice_t = nvmlDevice_st*;

struct nvmlEventSet_st {
  size_t taken;                // Of the events.
  unsigned long long listens;  // A bit for each device.
};
using nvmlEventSet_t = nvmlEventSet_st*;

typedef struct nvmlEventData_st {
  nvmlDevice_t device;
  unsigned long long eventType;
  unsigned long long eventData;
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
} nvmlEventData_t;

typedef struct nvmlMemory_st {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
} nvmlMemory_t;

typedef struct nvmlProcessInfo_v1_st {
  unsigned int pid;
  unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;

typedef struct nvmlProcessInfo_v2_st {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
} nvmlProcessInfo_v2_t;

struct Process {
  unsigned int pid = 0;
  unsigned long long bytes = 0;
};
struct StandIn {
  std::string uuid;
  std::string name;
  unsigned long long total = 0;
  unsigned long long used = 0;
  nvmlReturn_t failure = NVML_SUCCESS;
  std::vector<Process> processes;
  unsigned int gpu_instance = 0;  // Of an instance.
  bool is_in_mig_mode = false;
  std::vector<StandIn> instances;
};
struct Xid {
  unsigned int index = 0;
  unsigned long long number = 0;
  unsigned int gpu_instance = 0;
};
struct Machine {
  nvmlReturn_t driver = NVML_SUCCESS;
  std::vector<StandIn> devices;
  std::vector<Xid> xids;
};

int init_count = 0;

Process ReadProcess(std::istream& words) {
  Process process;
  std::string bytes;
  words >> process.pid >> bytes;
  process.bytes = bytes == "-" ? ~0ull : std::stoull(bytes);
  return process;
}

void ReadLineOf(StandIn& device, unsigned int index, const std::string& kind, std::istream& words,
                Machine& machine) {
  if (kind == "process") {
    device.processes.push_back(ReadProcess(words));
  } else if (kind == "fail") {
    words >> device.failure;
  } else if (kind == "mig") {
    device.is_in_mig_mode = true;
  } else if (kind == "instance") {
    StandIn& instance = device.instances.emplace_back();
    words >> instance.uuid >> instance.total >> instance.used >> instance.gpu_instance >> std::ws;
    std::getline(words, instance.name);
  } else if (kind == "instance_process") {
    size_t place = 0;
    words >> place;
    device.instances.at(place).processes.push_back(ReadProcess(words));
  } else if (kind == "xid") {
    Xid& xid = machine.xids.emplace_back();
    std::string instance;
    words >> xid.number >> instance;
    xid.index = index;
    xid.gpu_instance = instance == "-" ? ~0u : static_cast<unsigned int>(std::stoul(instance));
  }
}

void ReadLine(const std::string& line, Machine& machine) {
  std::istringstream words(line);
  std::string kind, text;
  words >> kind;
  if (kind == "driver") {
    words >> machine.driver;
  } else if (kind == "device") {
    StandIn& device = machine.devices.emplace_back();
    words >> device.uuid >> device.total >> device.used >> std::ws;
    std::getline(words, device.name);
  } else if (!kind.empty()) {
    size_t index = 0;
    words >> index;
    ReadLineOf(machine.devices.at(index), static_cast<unsigned int>(index), kind, words, machine);
  }
}

Machine ReadMachine() {
  Machine machine;
  const char* const path = std::getenv("TUNE_STANDIN_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string line; std::getline(file, line);) ReadLine(line, machine);
  return machine;
}

// What `use` makes of the device.
template <typename Use>
nvmlReturn_t With(nvmlDevice_t handle, Use use) {
  if (init_count == 0) return NVML_ERROR_UNINITIALIZED;
  const Machine machine = ReadMachine();
  if (handle == nullptr || handle->index >= machine.devices.size()) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const StandIn& device = machine.devices[handle->index];
  if (device.failure != NVML_SUCCESS) return device.failure;
  if (handle->instance < 0) return use(device);
  const auto place = static_cast<size_t>(handle->instance);
  return place < device.instances.size() ? use(device.instances[place]) : NVML_ERROR_NOT_FOUND;
}

constexpr unsigned int kDevicesMax = 64;
constexpr int kInstancesMax = 8;

nvmlDevice_t HandleOf(unsigned int index, int instance) {
  static nvmlDevice_st handles[kDevicesMax][kInstancesMax + 1];
  nvmlDevice_st& handle = handles[index][instance + 1];
  handle = {index, instance};
  return &handle;
}

nvmlReturn_t CopyText(const std::string& text, char* out, unsigned int length) {
  if (text.size() + 1 > length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

template <typename Info>
nvmlReturn_t ListProcesses(nvmlDevice_t handle, unsigned int* count, Info* infos) {
  return With(handle, [&](const StandIn& device) {
    const unsigned int room = *count;
    *count = static_cast<unsigned int>(device.processes.size());
    if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < *count; ++i) {
      infos[i].pid = device.processes[i].pid;
      infos[i].usedGpuMemory = device.processes[i].bytes;
    }
    return NVML_SUCCESS;
  });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() {
  const nvmlReturn_t answer = ReadMachine().driver;
  if (answer == NVML_SUCCESS) ++init_count;
  return answer;
}

nvmlReturn_t nvmlShutdown() {
  if (init_count == 0) return NVML_ERROR_UNINITIALIZED;
  --init_count;
  return NVML_SUCCESS;
}

const char* nvmlErrorString(nvmlReturn_t error) {
  switch (error) {
    case 0:
      return "Success";
    case 6:
      return "Not Found";
    case 15:
      return "GPU is lost";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  if (init_count == 0) return NVML_ERROR_UNINITIALIZED;
  *count = static_cast<unsigned int>(ReadMachine().devices.size());
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* handle) {
  if (index >= kDevicesMax || index >= ReadMachine().devices.size()) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  *handle = HandleOf(index, -1);
  return With(*handle, [](const StandIn&) { return NVML_SUCCESS; });
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* handle) {
  const Machine machine = ReadMachine();
  for (unsigned int i = 0; i < machine.devices.size(); ++i) {
    const StandIn& device = machine.devices[i];
    for (int j = -1; j < static_cast<int>(device.instances.size()); ++j) {
      const StandIn& one = j < 0 ? device : device.instances[static_cast<size_t>(j)];
      if (one.uuid != uuid) continue;
      *handle = HandleOf(i, j);
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned int length) {
  return With(handle, [&](const StandIn& device) { return CopyText(device.name, name, length); });
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned int length) {
  return With(handle, [&](const StandIn& device) { return CopyText(device.uuid, uuid, length); });
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  return With(handle, [&](const StandIn& device) {
    *memory = {device.total, device.total - device.used, device.used};
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t handle, unsigned int* count,
                                                  nvmlProcessInfo_v1_t* infos) {
  return ListProcesses(handle, count, infos);
}

#ifndef STANDIN_IS_OLD
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t handle, unsigned int* count,
                                                     nvmlProcessInfo_v2_t* infos) {
  return ListProcesses(handle, count, infos);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t handle, unsigned int* current,
                                  unsigned int* pending) {
  return With(handle, [&](const StandIn& device) {
    *current = *pending = device.is_in_mig_mode ? 1 : 0;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t handle, unsigned int* count) {
  return With(handle, [&](const StandIn&) {
    *count = kInstancesMax;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t handle, unsigned int index,
                                                 nvmlDevice_t* instance) {
  return With(handle, [&](const StandIn& device) {
    if (!device.is_in_mig_mode) return NVML_ERROR_NOT_SUPPORTED;
    if (index >= device.instances.size()) return NVML_ERROR_NOT_FOUND;
    *instance = HandleOf(handle->index, static_cast<int>(index));
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t handle, unsigned int* id) {
  if (handle == nullptr || handle->instance < 0) return NVML_ERROR_NOT_SUPPORTED;
  return With(handle, [&](const StandIn& instance) {
    *id = instance.gpu_instance;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  *set = new nvmlEventSet_st{ReadMachine().xids.size(), 0};
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
  delete set;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t handle, unsigned long long types,
                                      nvmlEventSet_t set) {
  return With(handle, [&](const StandIn&) {
    if (handle->instance >= 0 || types != nvmlEventTypeXidCriticalError) {
      return NVML_ERROR_NOT_SUPPORTED;
    }
    set->listens |= 1ull << handle->index;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned int) {
  const Machine machine = ReadMachine();
  while (set->taken < machine.xids.size()) {
    const Xid& xid = machine.xids[set->taken++];
    if ((set->listens >> xid.index & 1) == 0) continue;
    *data = {HandleOf(xid.index, -1), nvmlEventTypeXidCriticalError, xid.number, xid.gpu_instance,
             ~0u};
    return NVML_SUCCESS;
  }
  return NVML_ERROR_TIMEOUT;
}
#endif

}  // extern "C"
