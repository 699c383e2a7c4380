// What the worker's decisions know of its devices: what trials see of them and use of them, and
// those that fall away.
#include <algorithm>

#include "core/resource_text.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/worker/worker_core.h"

namespace tune {
namespace {

// A user's program takes the device of its LOCAL_RANK, as under torchrun: it sees those of all
// ranks here, where each has a whole one.
std::vector<DeviceSlice> SeenBy(const StartAttempt& start, const std::string& program) {
  if (start.group.devices.size() < 2 || !RunsUserPrograms(program)) return start.slices;
  std::vector<DeviceSlice> slices;
  for (const int64_t device : start.group.devices) slices.push_back({device, kWholeMilli});
  return slices;
}

}  // namespace

// MPS would hold a process that several share to the share of the first of them, for good.
DeviceEnvironment WorkerCore::DevicesOf(const StartAttempt& start, const Fusion& fusion) const {
  const bool is_held_by_mps = has_mps_ && fusion.lanes_max == 1;
  DeviceEnvironment environment = EnvironmentOf(SeenBy(start, *SweepOf(start.ref).program),
                                                options_.hello.capacity.devices, is_held_by_mps);
  if (start.world_size > 1) {
    const DeviceEnvironment& more = start.is_spread ? options_.spread_ranks : options_.near_ranks;
    environment.insert(environment.end(), more.begin(), more.end());
  }
  return environment;
}

std::string WorkerCore::DeviceName(int64_t index) const {
  const auto& devices = options_.hello.capacity.devices;
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [index](const Device& device) { return device.index == index; });
  return "device " + std::to_string(index) +
         (found == devices.end() || found->name.empty() ? "" : " (" + found->name + ")");
}

// Why an attempt with these slices cannot run: the first of their devices that fell away.
std::optional<std::string> WorkerCore::LossUnder(const std::vector<DeviceSlice>& slices) const {
  for (const DeviceSlice& slice : slices) {
    const auto lost = lost_devices_.find(slice.device);
    if (lost == lost_devices_.end()) continue;
    return DeviceName(slice.device) + " fell away: " + lost->second;
  }
  return std::nullopt;
}

void WorkerCore::OnDevicesSeen(const DevicesSeen& seen, Instant now) {
  if (has_exited_) return;
  device_use_ = seen.use;
  for (const DeviceLost& lost : seen.lost) LoseDevice(lost, now);
  for (const DevicesSeen::ProcessUse& use : seen.by_process) {
    const auto found = processes_.find(use.process);
    if (found != processes_.end()) OnDeviceUse(found->first, found->second, use.use, now);
  }
}

// First the device, then the ends of what ran there: so the tuner gives nobody its place.
void WorkerCore::LoseDevice(const DeviceLost& lost, Instant now) {
  if (!lost_devices_.emplace(lost.device, CutError(lost.why)).second) return;
  Tell(DeviceLost{lost.device, DeviceName(lost.device) + ": " + lost_devices_.at(lost.device)});
  for (auto& [id, process] : processes_) {
    if (process.running.empty()) continue;
    // Those that share a process share its devices.
    const std::optional<std::string> loss = LossUnder(process.running.begin()->second.start.slices);
    if (loss) GiveBackAll(id, process, {Outcome::kLost, *loss, EndDetail::kNone}, true, now);
  }
}

void WorkerCore::OnDeviceUse(ProcessId id, Process& process, const DeviceUse& use, Instant now) {
  const int64_t lanes = static_cast<int64_t>(process.running.size());
  for (auto& [lane, running] : process.running) {
    for (const DeviceSlice& slice : running.start.slices) {
      if (slice.device != use.device) continue;
      // Of those that share a process nobody can tell whose is what.
      running.device_bytes_max = std::max(running.device_bytes_max, use.used_bytes / lanes);
      const bool is_watched = RunsUserPrograms(process.program) && !IsHeldByMps(running.devices);
      if (!is_watched || slice.memory_bytes == 0 || use.used_bytes <= slice.memory_bytes) continue;
      return Condemn(id, process, lane,
                     {Outcome::kDeviceOutOfMemory,
                      "it used " + DescribeMemory(use.used_bytes) + " of " +
                          DeviceName(slice.device) + ", more than its share's " +
                          DescribeMemory(slice.memory_bytes) + "; without MPS that is watched for",
                      EndDetail::kNone},
                     true, now);
    }
  }
}

// With what is said anyway: a lease that has ended teaches nothing.
void WorkerCore::TellDeviceMemory(Running& running) {
  if (running.device_bytes_max <= running.device_bytes_told) return;
  running.device_bytes_told = running.device_bytes_max;
  Tell(DeviceMemoryPeak{running.start.ref, running.device_bytes_told});
}

}  // namespace tune
