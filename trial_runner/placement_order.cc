#include "trial_runner/placement_order.h"

#include <limits>

namespace tune {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

}  // namespace

void PlacementOrder::Insert(const WorkerView& view) {
  if (view.is_draining) return;
  by_gpu_.insert(GpuScore(view));
  by_cpu_.insert(CpuScore(view));
  for (const auto& counts : view.fuse_keys) {
    for (const auto& [key, count] : counts) by_fuse_key_[key].insert(GpuScore(view));
  }
}

void PlacementOrder::Erase(const WorkerView& view) {
  if (view.is_draining) return;
  by_gpu_.erase(GpuScore(view));
  by_cpu_.erase(CpuScore(view));
  for (const auto& counts : view.fuse_keys) {
    for (const auto& [key, count] : counts) {
      const auto found = by_fuse_key_.find(key);
      if (found == by_fuse_key_.end()) continue;  // Of two devices with it, the other one.
      found->second.erase(GpuScore(view));
      if (found->second.empty()) by_fuse_key_.erase(found);
    }
  }
}

PlacementScore PlacementOrder::BestScore(const ResourceRequest& request) {
  // Less free GPU than it asks for is too little, whatever the device.
  return PlacementScore{request.gpu_milli, kLeast, WorkerId{kLeast}};
}

std::optional<PlacementScore> PlacementOrder::NextThatMayFit(const ResourceRequest& request,
                                                             const PlacementScore& score) {
  // Of the workers alike in the first field the one with the most free CPUs comes first: where that
  // one has too few, all of them have.
  if (-score.minus_free_cpu_milli >= request.cpu_milli) return std::nullopt;
  return PlacementScore{score.gpu + 1, kLeast, WorkerId{kLeast}};
}

}  // namespace tune
