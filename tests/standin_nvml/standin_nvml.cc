// A library in the place of NVIDIA's libnvidia-ml.so.1, for tests: the calls that we use, with the
// names, layouts and values of NVIDIA's nvml.h. What it answers stands in the file that
// TUNE_STANDIN_NVML names, read at each call:
//
//   driver ERROR                 what nvmlInit answers; 0 without such a line
//   device UUID TOTAL USED NAME  in order; the name to the line's end
//   process INDEX PID BYTES      a process on that device; BYTES -: not available
//   fail INDEX ERROR             calls about that device answer so
//
// STANDIN_IS_OLD: a driver before 450, which has no nvmlDeviceGetComputeRunningProcesses_v2.
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
constexpr nvmlReturn_t NVML_ERROR_INSUFFICIENT_SIZE = 7;

struct nvmlDevice_st {
  unsigned int index;
};
using nvmlDevice_t = nvmlDevice_st*;

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
};
struct Machine {
  nvmlReturn_t driver = NVML_SUCCESS;
  std::vector<StandIn> devices;
};

int init_count = 0;

void ReadLine(const std::string& line, Machine& machine) {
  std::istringstream words(line);
  std::string kind, bytes;
  words >> kind;
  if (kind == "driver") {
    words >> machine.driver;
  } else if (kind == "device") {
    StandIn& device = machine.devices.emplace_back();
    words >> device.uuid >> device.total >> device.used >> std::ws;
    std::getline(words, device.name);
  } else if (kind == "process" || kind == "fail") {
    size_t index = 0;
    words >> index;
    StandIn& device = machine.devices.at(index);
    if (kind == "fail") {
      words >> device.failure;
      return;
    }
    Process& process = device.processes.emplace_back();
    words >> process.pid >> bytes;
    process.bytes = bytes == "-" ? ~0ull : std::stoull(bytes);
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
  return device.failure != NVML_SUCCESS ? device.failure : use(device);
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
  static nvmlDevice_st handles[64];
  if (index >= 64 || index >= ReadMachine().devices.size()) return NVML_ERROR_INVALID_ARGUMENT;
  handles[index].index = index;
  *handle = &handles[index];
  return With(*handle, [](const StandIn&) { return NVML_SUCCESS; });
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
#endif

}  // extern "C"
