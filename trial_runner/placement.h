// Which worker and which devices a trial gets, or each of its ranks. Pure: a plan is a value,
// computed from a picture of the workers and applied as decided. Filter (could it ever run here?
// could it now?), score, then total order by worker id, so that the order in which workers are
// listed changes nothing.
//
// Thread rule: pure functions.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/resources.h"

namespace tune {

// What one worker has and what of it is free. free_gpu_milli[i] and free_gpu_memory[i] (bytes; 0
// where the device's memory is not known) belong to capacity.devices[i].
struct WorkerView {
  WorkerId worker;
  WorkerCapacity capacity;
  int64_t free_cpu_milli = 0;
  std::vector<int64_t> free_gpu_milli;
  std::vector<int64_t> free_gpu_memory;
  // Of what runs on each device and may fuse (trial_runner/fusion.h): how many have which key. As
  // long as free_gpu_milli, or empty where nothing does.
  std::vector<std::map<std::string, int64_t>> fuse_keys = {};
  bool is_draining = false;  // It is about to leave and takes nothing more.
};

// Empty, with all of its capacity free.
WorkerView EmptyWorker(WorkerId worker, const WorkerCapacity& capacity);

// How much of a device's memory is booked for a slice of it, and is that slice's limit: all of it
// for a whole device, else what was asked for, else the share's part of it, but no less than what
// was learned. 0: the device's memory is not known, nor was any asked for.
int64_t SliceMemory(const ResourceRequest& request, const Device& device);

struct Placement {
  WorkerId worker;
  int64_t cpu_milli = 0;
  std::vector<DeviceSlice>
      slices;  // By device index; a share lies on one device, whole ones on free devices.
  std::string fuse_key = {};  // Of what is placed; empty: it fuses with nothing.
  friend bool operator==(const Placement&, const Placement&) = default;
};

// How good a place on a worker would be: lower is better, field by field; the id makes the order
// total.
struct PlacementScore {
  int64_t gpu = 0;  // Of a GPU request what is free; of a CPU request whether there are devices.
  int64_t minus_free_cpu_milli = 0;
  WorkerId worker;
  friend auto operator<=>(const PlacementScore&, const PlacementScore&) = default;
};
PlacementScore GpuScore(const WorkerView& view);
PlacementScore CpuScore(const WorkerView& view);

// Where on this worker; nothing when it has no room now, or is draining.
std::optional<Placement> PlaceOn(const ResourceRequest& request, const WorkerView& view,
                                 const std::string& fuse_key = "");

// Whether one of its devices has room for a share beside what it fuses with.
bool FusesOn(const ResourceRequest& request, const WorkerView& view, const std::string& fuse_key);

// A share goes to a device that already runs what it fuses with, among such and else to the fullest
// one on which it fits, then to that with the least memory left; whole devices are those with the
// least memory that is enough, then the lowest; several of them are never MIG instances, of which a
// process sees one. Among workers: for a share first those where it fuses; then for a GPU request
// the one that is left with the least free GPU (pack), for a CPU request first those without GPUs,
// then the one with the most free CPU (spread); ties to the lower id. Nothing when no worker has
// room now.
std::optional<Placement> PlaceTrial(const ResourceRequest& request,
                                    const std::vector<WorkerView>& workers,
                                    const std::string& fuse_key = "");

// How many trials at a time have their share of this device, empty; of trials with several whole
// devices 1 where it can be one of them.
int64_t CountOnDevice(const ResourceRequest& request, const Device& device);

// All ranks of a request, each where PlaceTrial() puts it beside those before it, which is room for
// all of them wherever there is any: they are alike. On one worker, the first in PlaceTrial()'s
// order that has room for all, unless they may spread: then those of a worker stand side by side.
// Empty when there is not room for all now.
std::vector<Placement> PlaceRanks(const ResourceRequest& request, std::vector<WorkerView> workers);

// Whether workers with these capacities, empty, could run it.
bool CouldEverFit(const ResourceRequest& request, const std::vector<WorkerCapacity>& capacities);
bool CouldEverFit(const ResourceRequest& request, const WorkerCapacity& capacity);

// Books resources out (sign -1) or back (sign +1). Shares of a device never add up to more than
// one, nor their memory to more than it has. What lies on a device that fell away is nobody's.
void Book(const Placement& placement, int64_t sign, WorkerView& view);

// "cpu: 4, gpu: 0.5", "cpu: 1, workers: 2" and "4 CPUs, 2 GPUs (24 GiB, 80 GiB)", for messages.
std::string DescribeRequest(const ResourceRequest& request);
std::string DescribeCapacity(const WorkerCapacity& capacity);

}  // namespace tune
