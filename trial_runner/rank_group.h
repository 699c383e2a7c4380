// Where each rank of an attempt stands among the others, and where they meet, as torchrun tells it
// to programs (docs/RANKS.md): the workers are the nodes, and a worker's ranks are its local ones.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "trial_runner/placement.h"

namespace tune {

// A program's LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
struct RankGroup {
  int64_t local_rank = 0;
  int64_t local_world_size = 1;
  int64_t node_rank = 0;
  int64_t node_count = 1;
  // The device of each local rank, in their order, where each has one whole device; else empty.
  std::vector<int64_t> devices = {};
  // Of the first rank's worker, as others reach it; empty: all ranks are on this worker.
  std::string master_address = {};
  int64_t master_port = 0;  // 0: not told.
  friend bool operator==(const RankGroup&, const RankGroup&) = default;
};

struct PlacedRank {
  int64_t rank = 0;
  Placement placement;
};

// Of this one of the ranks, which may stand in any order. Nodes are counted by their lowest ranks.
// The meeting is left out.
RankGroup GroupOf(int64_t rank, std::vector<PlacedRank> ranks);

// Whether a program of several ranks finds its own value in this variable.
bool IsRankVariable(std::string_view name);

// A port for the ranks of an attempt to meet at: another one for each attempt, so that ranks of an
// earlier one that are still there meet nobody. It lies below those that systems give to outgoing
// connections (32768), and above those of most services.
inline constexpr int64_t kMasterPortMin = 20'000;
inline constexpr int64_t kMasterPortMax = 32'767;
int64_t MasterPort(uint64_t seed, TrialNumber trial, LeaseEpoch first_rank);

}  // namespace tune
