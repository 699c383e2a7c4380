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

// The slices on one worker, or nothing when they do not fit into `free_gpu_milli` now.
std::optional<std::vector<DeviceSlice>> FitDevices(const ResourceRequest& request,
                                                   const WorkerCapacity& capacity,
                                                   const std::vector<int64_t>& free_gpu_milli) {
  TUNE_CHECK(free_gpu_milli.size() == capacity.devices.size());
  std::vector<DeviceSlice> slices;
  if (request.gpu_milli == 0) return slices;
  if (request.gpu_milli < kWholeMilli) {
    std::optional<size_t> fullest;
    for (size_t i = 0; i < free_gpu_milli.size(); ++i) {
      if (free_gpu_milli[i] < request.gpu_milli || !HasMemory(request, capacity.devices[i])) {
        continue;
      }
      if (!fullest || free_gpu_milli[i] < free_gpu_milli[*fullest]) fullest = i;
    }
    if (!fullest) return std::nullopt;
    slices.push_back(DeviceSlice{capacity.devices[*fullest].index, request.gpu_milli});
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

std::optional<Placement> PlaceOn(const ResourceRequest& request, const WorkerView& view) {
  if (view.is_draining || view.free_cpu_milli < request.cpu_milli) return std::nullopt;
  auto slices = FitDevices(request, view.capacity, view.free_gpu_milli);
  if (!slices) return std::nullopt;
  return Placement{view.worker, request.cpu_milli, *std::move(slices)};
}

std::optional<Placement> Place(const ResourceRequest& request,
                               const std::vector<WorkerView>& workers) {
  std::optional<std::pair<PlacementScore, Placement>> best;
  for (const WorkerView& view : workers) {
    auto placement = PlaceOn(request, view);
    if (!placement) continue;
    const PlacementScore score = request.gpu_milli > 0 ? GpuScore(view) : CpuScore(view);
    if (best && best->first <= score) continue;
    best.emplace(score, *std::move(placement));
  }
  if (!best) return std::nullopt;
  return best->second;
}

bool CouldEverFit(const ResourceRequest& request, const WorkerCapacity& capacity) {
  if (capacity.cpu_milli < request.cpu_milli) return false;
  const std::vector<int64_t> all_free(capacity.devices.size(), kWholeMilli);
  return FitDevices(request, capacity, all_free).has_value();
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
