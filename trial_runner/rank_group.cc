#include "trial_runner/rank_group.h"

#include <algorithm>

#include "core/random.h"

namespace tune {

RankGroup GroupOf(int64_t rank, std::vector<PlacedRank> ranks) {
  std::sort(ranks.begin(), ranks.end(),
            [](const PlacedRank& a, const PlacedRank& b) { return a.rank < b.rank; });
  RankGroup group{0, 0, 0, 0};
  const auto self = std::find_if(ranks.begin(), ranks.end(),
                                 [rank](const PlacedRank& other) { return other.rank == rank; });
  if (self == ranks.end()) return {};
  const WorkerId here = self->placement.worker;
  std::vector<WorkerId> nodes;
  bool has_whole_devices = true;
  for (const auto& [number, placement] : ranks) {
    if (std::find(nodes.begin(), nodes.end(), placement.worker) == nodes.end()) {
      nodes.push_back(placement.worker);
    }
    if (placement.worker != here) continue;
    ++group.local_world_size;
    if (number < rank) ++group.local_rank;
    const bool is_whole =
        placement.slices.size() == 1 && placement.slices.front().milli == kWholeMilli;
    has_whole_devices = has_whole_devices && is_whole;
    if (is_whole) group.devices.push_back(placement.slices.front().device);
  }
  if (!has_whole_devices) group.devices.clear();
  group.node_count = static_cast<int64_t>(nodes.size());
  group.node_rank = std::find(nodes.begin(), nodes.end(), here) - nodes.begin();
  return group;
}

bool IsRankVariable(std::string_view name) {
  for (const std::string_view known :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK",
        "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    if (name == known) return true;
  }
  return name.starts_with("ROLE_") || name.starts_with("TORCHELASTIC_");
}

int64_t MasterPort(uint64_t seed, TrialNumber trial, LeaseEpoch first_rank) {
  KeyedRandom random(seed, "master port", static_cast<uint64_t>(trial.value),
                     static_cast<uint64_t>(first_rank.value));
  constexpr uint64_t kCount = kMasterPortMax - kMasterPortMin + 1;
  return kMasterPortMin + static_cast<int64_t>(random.NextBelow(kCount));
}

}  // namespace tune
