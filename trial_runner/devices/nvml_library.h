// NVML by its C interface, with own prototypes: its header comes with the CUDA toolkit, which a
// worker does not need. Names, layouts and values are those of NVIDIA's nvml.h.
//
// Thread rule: any thread; what is done with a handle is the caller's to order.
#pragma once

#include <limits>

#include "core/status.h"

namespace tune {

using NvmlReturn = int;
using NvmlDevice = struct NvmlDeviceHandle*;
using NvmlEventSet = struct NvmlEventSetHandle*;

enum : NvmlReturn {
  kNvmlSuccess = 0,
  kNvmlNotFound = 6,
  kNvmlInsufficientSize = 7,
  kNvmlDriverNotLoaded = 9,
  kNvmlGpuIsLost = 15,
  kNvmlResetRequired = 16,
  kNvmlGpuNotFound = 28,
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
inline constexpr auto kNvmlNotAvailable = std::numeric_limits<unsigned long long>::max();

// nvmlEventData_t.
struct NvmlEvent {
  NvmlDevice device;
  unsigned long long type;
  unsigned long long data;       // Of an Xid event its number.
  unsigned int gpu_instance_id;  // kNvmlNoInstance: of the whole device.
  unsigned int compute_instance_id;
};
static_assert(sizeof(NvmlEvent) == 32);
inline constexpr unsigned long long kNvmlXidEvent = 8;  // nvmlEventTypeXidCriticalError
inline constexpr unsigned int kNvmlNoInstance = 0xffffffff;

inline constexpr unsigned int kNvmlNameBytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, ..._UUID_...
inline constexpr unsigned int kNvmlMigEnabled = 1;  // NVML_DEVICE_MIG_ENABLE

struct NvmlLibrary {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  const char* (*error_string)(NvmlReturn) = nullptr;
  NvmlReturn (*count)(unsigned int*) = nullptr;
  NvmlReturn (*handle_by_index)(unsigned int, NvmlDevice*) = nullptr;
  NvmlReturn (*handle_by_uuid)(const char*, NvmlDevice*) = nullptr;  // Of a MIG instance, too.
  NvmlReturn (*name)(NvmlDevice, char*, unsigned int) = nullptr;
  NvmlReturn (*uuid)(NvmlDevice, char*, unsigned int) = nullptr;
  NvmlReturn (*memory)(NvmlDevice, NvmlMemory*) = nullptr;

  // Each may be absent: drivers of their time do not have them.
  //
  // The third version of this call has had two layouts under one name: the drivers 535.43 to 535.86
  // filled longer entries. These two have one each.
  NvmlReturn (*processes_v2)(NvmlDevice, unsigned int*, NvmlProcessV2*) = nullptr;
  NvmlReturn (*processes_v1)(NvmlDevice, unsigned int*, NvmlProcessV1*) = nullptr;
  NvmlReturn (*mig_mode)(NvmlDevice, unsigned int* current, unsigned int* pending) = nullptr;
  NvmlReturn (*mig_count_max)(NvmlDevice, unsigned int*) = nullptr;
  NvmlReturn (*mig_handle)(NvmlDevice, unsigned int, NvmlDevice*) = nullptr;
  NvmlReturn (*gpu_instance_id)(NvmlDevice, unsigned int*) = nullptr;
  NvmlReturn (*event_set_create)(NvmlEventSet*) = nullptr;
  NvmlReturn (*event_set_free)(NvmlEventSet) = nullptr;
  NvmlReturn (*register_events)(NvmlDevice, unsigned long long types, NvmlEventSet) = nullptr;
  NvmlReturn (*event_set_wait)(NvmlEventSet, NvmlEvent*, unsigned int timeout_ms) = nullptr;

  bool has_mig() const {
    return mig_mode != nullptr && mig_count_max != nullptr && mig_handle != nullptr &&
           gpu_instance_id != nullptr;
  }
  bool has_events() const {
    return event_set_create != nullptr && event_set_free != nullptr && register_events != nullptr &&
           event_set_wait != nullptr;
  }
};

// The driver's libnvidia-ml.so.1, which stays loaded: what it has begun in the driver may outlive a
// call. kNotFound: it is not here; kUnavailable: it is no NVML.
Result<NvmlLibrary> LoadNvml();

}  // namespace tune
