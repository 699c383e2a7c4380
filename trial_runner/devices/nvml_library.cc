#include "trial_runner/devices/nvml_library.h"

#include <dlfcn.h>

namespace tune {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Result<NvmlLibrary> LoadNvml() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NotFound("no NVML: libnvidia-ml.so.1 is not here");
  NvmlLibrary nvml;
  const bool is_whole = Find(library, "nvmlInit_v2", nvml.init) &&
                        Find(library, "nvmlShutdown", nvml.shutdown) &&
                        Find(library, "nvmlErrorString", nvml.error_string) &&
                        Find(library, "nvmlDeviceGetCount_v2", nvml.count) &&
                        Find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle_by_index) &&
                        Find(library, "nvmlDeviceGetHandleByUUID", nvml.handle_by_uuid) &&
                        Find(library, "nvmlDeviceGetName", nvml.name) &&
                        Find(library, "nvmlDeviceGetUUID", nvml.uuid) &&
                        Find(library, "nvmlDeviceGetMemoryInfo", nvml.memory);
  if (!is_whole)
    return Unavailable("NVML: libnvidia-ml.so.1 lacks calls that it always had; is it NVIDIA's?");
  Find(library, "nvmlDeviceGetComputeRunningProcesses_v2", nvml.processes_v2);
  Find(library, "nvmlDeviceGetComputeRunningProcesses", nvml.processes_v1);
  Find(library, "nvmlDeviceGetMigMode", nvml.mig_mode);
  Find(library, "nvmlDeviceGetMaxMigDeviceCount", nvml.mig_count_max);
  Find(library, "nvmlDeviceGetMigDeviceHandleByIndex", nvml.mig_handle);
  Find(library, "nvmlDeviceGetGpuInstanceId", nvml.gpu_instance_id);
  Find(library, "nvmlEventSetCreate", nvml.event_set_create);
  Find(library, "nvmlEventSetFree", nvml.event_set_free);
  Find(library, "nvmlDeviceRegisterEvents", nvml.register_events);
  Find(library, "nvmlEventSetWait_v2", nvml.event_set_wait);
  return nvml;
}

}  // namespace tune
