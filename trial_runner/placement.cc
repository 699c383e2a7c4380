#include "trial_runner/placement.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tune {
namespace {

bool HasMemory(const ResourceRequest& request, const Device& device) {
  return request.gpu_memory_bytes == 0 || device.memory_bytes == 0 ||
         request.gpu_memory_bytes <= device.memory_bytes;
}

bool RunsOn(size_t device, const WorkerView& view, const std::string& fuse_key) {
  return !fuse_key.empty() && !view.fuse_keys.empty() && view.fuse_keys[device].contains(fuse_key);
}

// Of the devices with room for a share, one that runs what it fuses with, then the fullest.
std::optional<size_t> DeviceForShare(const ResourceRequest& request, const WorkerView& view,
                                     const std::string& fuse_key) {
  std::optional<size_t> best;
  const auto cost = [&](size_t device) {
    return std::pair(!RunsOn(device, view, fuse_key), view.free_gpu_milli[device]);
  };
  for (size_t i = 0; i < view.free_gpu_milli.size(); ++i) {
    if (view.free_gpu_milli[i] < request.gpu_milli ||
        !HasMemory(request, view.capacity.devices[i])) {
      continue;
    }
    if (!best || cost(i) < cost(*best)) best = i;
  }
  return best;
}

// The slices on one worker, or nothing when they do not fit now.
std::optional<std::vector<DeviceSlice>> FitDevices(const ResourceRequest& request,
                                                   const WorkerView& view,
                                                   const std::string& fuse_key) {
  const WorkerCapacity& capacity = view.capacity;
  const std::vector<int64_t>& free_gpu_milli = view.free_gpu_milli;
  TUNE_CHECK(free_gpu_milli.size() == capacity.devices.size());
  std::vector<DeviceSlice> slices;
  if (request.gpu_milli == 0) return slices;
  if (request.gpu_milli < kWholeMilli) {
    const std::optional<size_t> device = DeviceForShare(request, view, fuse_key);
    if (!device) return std::nullopt;
    slices.push_back(DeviceSlice{capacity.devices[*device].index, request.gpu_milli});
    return slices;
  }
  int64_t missing = request.gpu_milli / kWholeMilli;
  for (size_t i = 0; i < free_gpu_milli.size() && missing > 0; ++i) {
    if (free_gpu_milli[i] != kWholeMilli || !HasMemory(request, capacity.devices[i])) continue;
    slices.push_back(DeviceSlice{capacity.devices[i].index, kWholeMilli});
    --missing;
  }
  if (missing > 0) return std::nullopt;
  return slices;
}

int64_t Sum(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t value : values) sum += value;
  return sum;
}

std::string Decimal(int64_t milli) {
  std::string text = std::to_string(milli / kWholeMilli);
  int64_t rest = milli % kWholeMilli;
  if (rest == 0) return text;
  std::string digits = std::to_string(rest + kWholeMilli).substr(1);
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

}  // namespace

PlacementScore GpuScore(const WorkerView& view) {
  return {Sum(view.free_gpu_milli), -view.free_cpu_milli, view.worker};
}

PlacementScore CpuScore(const WorkerView& view) {
  return {view.capacity.devices.empty() ? 0 : 1, -view.free_cpu_milli, view.worker};
}

std::optional<Placement> PlaceOn(const ResourceRequest& request, const WorkerView& view,
                                 const std::string& fuse_key) {
  if (view.is_draining || view.free_cpu_milli < request.cpu_milli) return std::nullopt;
  auto slices = FitDevices(request, view, fuse_key);
  if (!slices) return std::nullopt;
  return Placement{view.worker, request.cpu_milli, *std::move(slices), fuse_key};
}

bool FusesOn(const ResourceRequest& request, const WorkerView& view, const std::string& fuse_key) {
  if (request.gpu_milli <= 0 || request.gpu_milli >= kWholeMilli) return false;
  const std::optional<size_t> device = DeviceForShare(request, view, fuse_key);
  return device && RunsOn(*device, view, fuse_key);
}

std::optional<Placement> Place(const ResourceRequest& request,
                               const std::vector<WorkerView>& workers,
                               const std::string& fuse_key) {
  std::optional<std::pair<std::pair<bool, PlacementScore>, Placement>> best;
  for (const WorkerView& view : workers) {
    auto placement = PlaceOn(request, view, fuse_key);
    if (!placement) continue;
    const std::pair score(!FusesOn(request, view, fuse_key),
                          request.gpu_milli > 0 ? GpuScore(view) : CpuScore(view));
    if (best && best->first <= score) continue;
    best.emplace(score, *std::move(placement));
  }
  if (!best) return std::nullopt;
  return best->second;
}

bool CouldEverFit(const ResourceRequest& request, const WorkerCapacity& capacity) {
  if (capacity.cpu_milli < request.cpu_milli) return false;
  WorkerView empty;
  empty.capacity = capacity;
  empty.free_gpu_milli.assign(capacity.devices.size(), kWholeMilli);
  return FitDevices(request, empty, "").has_value();
}

std::string DescribeRequest(const ResourceRequest& request) {
  std::string text = "cpu: " + Decimal(request.cpu_milli);
  if (request.gpu_milli > 0) text += ", gpu: " + Decimal(request.gpu_milli);
  if (request.gpu_memory_bytes > 0) {
    text += ", gpu_memory: " + std::to_string(request.gpu_memory_bytes) + " bytes";
  }
  return text;
}

std::string DescribeCapacity(const WorkerCapacity& capacity) {
  const size_t gpus = capacity.devices.size();
  return Decimal(capacity.cpu_milli) + (capacity.cpu_milli == kWholeMilli ? " CPU, " : " CPUs, ") +
         std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
}

}  // namespace tune
