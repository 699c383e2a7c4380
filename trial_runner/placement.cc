#include "trial_runner/placement.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "core/resource_text.h"

namespace tune {
namespace {

// A device of unknown memory has enough of it.
bool HasMemory(const WorkerView& view, size_t at, int64_t needed) {
  return view.capacity.devices[at].memory_bytes == 0 || needed <= view.free_gpu_memory[at];
}

bool RunsOn(size_t device, const WorkerView& view, const std::string& fuse_key) {
  return !fuse_key.empty() && !view.fuse_keys.empty() && view.fuse_keys[device].contains(fuse_key);
}

// The place of the device for a share: of those with room one that runs what it fuses with, then
// the fullest, then the one with the least memory left.
std::optional<size_t> FindShare(const ResourceRequest& request, const WorkerView& view,
                                const std::string& fuse_key) {
  std::optional<size_t> best;
  const auto cost = [&](size_t at) {
    return std::tuple(!RunsOn(at, view, fuse_key), view.free_gpu_milli[at],
                      view.free_gpu_memory[at]);
  };
  for (size_t i = 0; i < view.free_gpu_milli.size(); ++i) {
    const int64_t memory = SliceMemory(request, view.capacity.devices[i]);
    if (view.free_gpu_milli[i] < request.gpu_milli || !HasMemory(view, i, memory)) continue;
    if (!best || cost(i) < cost(*best)) best = i;
  }
  return best;
}

// The places of that many free devices: those with the least memory that is enough.
std::vector<size_t> FindWhole(const ResourceRequest& request, const WorkerView& view) {
  std::vector<size_t> found;
  const int64_t needed =
      request.gpu_memory_bytes > 0 ? request.gpu_memory_bytes : request.learned_gpu_memory_bytes;
  for (size_t i = 0; i < view.free_gpu_milli.size(); ++i) {
    // CUDA shows a process one instance, however many it is given.
    if (request.gpu_milli > kWholeMilli && IsInstance(view.capacity.devices[i])) continue;
    if (view.free_gpu_milli[i] == kWholeMilli && HasMemory(view, i, needed)) found.push_back(i);
  }
  const auto memory = [&view](size_t at) { return view.capacity.devices[at].memory_bytes; };
  std::stable_sort(found.begin(), found.end(),
                   [&memory](size_t a, size_t b) { return memory(a) < memory(b); });
  return found;
}

// The slices on one worker, or nothing when they do not fit now.
std::optional<std::vector<DeviceSlice>> FitDevices(const ResourceRequest& request,
                                                   const WorkerView& view,
                                                   const std::string& fuse_key) {
  TUNE_CHECK(view.free_gpu_milli.size() == view.capacity.devices.size());
  TUNE_CHECK(view.free_gpu_memory.size() == view.capacity.devices.size());
  std::vector<DeviceSlice> slices;
  const auto add = [&](size_t at, int64_t milli) {
    const Device& device = view.capacity.devices[at];
    slices.push_back(DeviceSlice{device.index, milli, SliceMemory(request, device)});
  };
  if (request.gpu_milli == 0) return slices;
  if (request.gpu_milli < kWholeMilli) {
    const std::optional<size_t> at = FindShare(request, view, fuse_key);
    if (!at) return std::nullopt;
    add(*at, request.gpu_milli);
    return slices;
  }
  std::vector<size_t> whole = FindWhole(request, view);
  const auto count = static_cast<size_t>(request.gpu_milli / kWholeMilli);
  if (whole.size() < count) return std::nullopt;
  whole.resize(count);
  std::sort(whole.begin(), whole.end());
  for (const size_t at : whole) add(at, kWholeMilli);
  return slices;
}

// One more (sign -1: its room is taken) or less of those that fuse there.
void CountKey(WorkerView& view, size_t device, const std::string& key, int64_t sign) {
  view.fuse_keys.resize(view.free_gpu_milli.size());
  std::map<std::string, int64_t>& counts = view.fuse_keys[device];
  int64_t& count = counts[key];
  count -= sign;
  TUNE_CHECK(count >= 0);
  if (count == 0) counts.erase(key);
}

int64_t Sum(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t value : values) sum += value;
  return sum;
}

// Each rank where PlaceTrial() puts it beside those before it.
std::vector<Placement> PlaceSpread(const ResourceRequest& request,
                                   std::vector<WorkerView> workers) {
  std::vector<Placement> placements;
  while (static_cast<int64_t>(placements.size()) < request.workers) {
    std::optional<Placement> placement = PlaceTrial(request, workers);
    if (!placement) return {};
    const auto view = std::find_if(workers.begin(), workers.end(), [&](const WorkerView& v) {
      return v.worker == placement->worker;
    });
    Book(*placement, -1, *view);
    placements.push_back(*std::move(placement));
  }
  return placements;
}

// "2 GPUs (80 GiB, 24 GiB)".
std::string DescribeDevices(const std::vector<Device>& devices, const std::string& what) {
  std::string memory;
  for (const Device& device : devices) {
    if (device.memory_bytes == 0) continue;
    memory += (memory.empty() ? " (" : ", ") + DescribeMemory(device.memory_bytes);
  }
  return std::to_string(devices.size()) + " " + what + (devices.size() == 1 ? "" : "s") + memory +
         (memory.empty() ? "" : ")");
}

// All ranks on the first worker, as PlaceTrial() prefers them, that has room for all.
std::vector<Placement> PlaceTogether(const ResourceRequest& request,
                                     std::vector<WorkerView> workers) {
  while (const std::optional<Placement> first = PlaceTrial(request, workers)) {
    const auto preferred = std::find_if(workers.begin(), workers.end(), [&](const WorkerView& v) {
      return v.worker == first->worker;
    });
    std::vector<Placement> placements = PlaceSpread(request, {*preferred});
    if (!placements.empty()) return placements;
    workers.erase(preferred);
  }
  return {};
}

}  // namespace

WorkerView EmptyWorker(WorkerId worker, const WorkerCapacity& capacity) {
  WorkerView view;
  view.worker = worker;
  view.capacity = capacity;
  view.free_cpu_milli = capacity.cpu_milli;
  for (const Device& device : capacity.devices) {
    view.free_gpu_milli.push_back(kWholeMilli);
    view.free_gpu_memory.push_back(device.memory_bytes);
  }
  return view;
}

int64_t SliceMemory(const ResourceRequest& request, const Device& device) {
  if (device.memory_bytes == 0) return request.gpu_memory_bytes;
  if (request.gpu_milli >= kWholeMilli) return device.memory_bytes;
  if (request.gpu_memory_bytes > 0) return request.gpu_memory_bytes;
  const int64_t part = device.memory_bytes * request.gpu_milli / kWholeMilli;
  return std::max(part, request.learned_gpu_memory_bytes);
}

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
  const std::optional<size_t> device = FindShare(request, view, fuse_key);
  return device && RunsOn(*device, view, fuse_key);
}

std::optional<Placement> PlaceTrial(const ResourceRequest& request,
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

int64_t CountOnDevice(const ResourceRequest& request, const Device& device) {
  if (request.gpu_milli > kWholeMilli && IsInstance(device)) return 0;
  ResourceRequest one = request;
  one.cpu_milli = 0;
  one.gpu_milli = std::min(request.gpu_milli, kWholeMilli);
  WorkerView view = EmptyWorker(WorkerId{}, WorkerCapacity{0, {device}});
  int64_t count = 0;
  while (one.gpu_milli > 0) {
    const auto placement = PlaceOn(one, view);
    if (!placement) break;
    Book(*placement, -1, view);
    ++count;
  }
  return count;
}

// The ranks of one worker stand side by side, as torchrun counts them.
std::vector<Placement> PlaceRanks(const ResourceRequest& request, std::vector<WorkerView> workers) {
  if (!request.spread) return PlaceTogether(request, std::move(workers));
  std::vector<Placement> placements = PlaceSpread(request, std::move(workers));
  for (auto first = placements.begin(); first != placements.end();) {
    first = std::stable_partition(
        first, placements.end(),
        [worker = first->worker](const Placement& other) { return other.worker == worker; });
  }
  return placements;
}

bool CouldEverFit(const ResourceRequest& request, const std::vector<WorkerCapacity>& capacities) {
  std::vector<WorkerView> views;
  for (const WorkerCapacity& capacity : capacities) {
    views.push_back(EmptyWorker(WorkerId{static_cast<int64_t>(views.size())}, capacity));
  }
  return !PlaceRanks(request, std::move(views)).empty();
}

bool CouldEverFit(const ResourceRequest& request, const WorkerCapacity& capacity) {
  return CouldEverFit(request, std::vector<WorkerCapacity>{capacity});
}

void Book(const Placement& placement, int64_t sign, WorkerView& view) {
  view.free_cpu_milli += sign * placement.cpu_milli;
  TUNE_CHECK(view.free_cpu_milli >= 0);
  for (const DeviceSlice& slice : placement.slices) {
    for (size_t i = 0; i < view.capacity.devices.size(); ++i) {
      const Device& device = view.capacity.devices[i];
      if (device.index != slice.device) continue;
      int64_t& free = view.free_gpu_milli[i];
      free += sign * slice.milli;
      TUNE_CHECK(free >= 0 && free <= kWholeMilli);
      if (!placement.fuse_key.empty()) CountKey(view, i, placement.fuse_key, sign);
      if (device.memory_bytes == 0) continue;
      int64_t& free_memory = view.free_gpu_memory[i];
      free_memory += sign * slice.memory_bytes;
      TUNE_CHECK(free_memory >= 0 && free_memory <= device.memory_bytes);
    }
  }
}

std::string DescribeRequest(const ResourceRequest& request) {
  std::string text = "cpu: " + DescribeShare(request.cpu_milli);
  if (request.gpu_milli > 0) text += ", gpu: " + DescribeShare(request.gpu_milli);
  if (request.gpu_memory_bytes > 0) {
    text += ", gpu_memory: " + DescribeMemory(request.gpu_memory_bytes);
  } else if (request.learned_gpu_memory_bytes > 0) {
    text += ", " + DescribeMemory(request.learned_gpu_memory_bytes) + " of GPU memory, as learned";
  }
  if (request.workers > 1) text += ", workers: " + std::to_string(request.workers);
  if (request.workers > 1 && !request.spread) text += " in one place (spread: false)";
  return text;
}

std::string DescribeCapacity(const WorkerCapacity& capacity) {
  std::vector<Device> whole;
  std::vector<Device> instances;
  for (const Device& device : capacity.devices) {
    (IsInstance(device) ? instances : whole).push_back(device);
  }
  std::string text =
      DescribeShare(capacity.cpu_milli) + (capacity.cpu_milli == kWholeMilli ? " CPU" : " CPUs");
  if (!whole.empty() || instances.empty()) text += ", " + DescribeDevices(whole, "GPU");
  if (!instances.empty()) text += ", " + DescribeDevices(instances, "MIG instance");
  return text + (instances.size() > 1 ? ", one for a process" : "");
}

}  // namespace tune
