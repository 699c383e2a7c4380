// What differs between the cluster file that a head began with and the file as it is now: what can
// change while the cluster is up, and what cannot.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "tuner/engines/cluster_file.h"

namespace tune {

struct ClusterChange {
  std::vector<std::string> settings;  // "pools.vm.max: 4 instead of 2"; these can be applied.
  std::vector<std::string> others;    // "pools.vm.command.up"
};

// A pool's min, max, idle and join_timeout can change; nothing else.
ClusterChange CompareClusters(const ClusterSpec& cluster, const ClusterSpec& wanted);

// What differs of that by which a pool's machines are found and given back:
// "pools.vm.command.list". With a `wanted` for which this is not empty, machines that the pool has
// are nobody's.
std::vector<std::string> LosesMachines(const PoolSpec& pool, const PoolSpec& wanted);

// Requires that CompareClusters names no `others`.
void ApplySettings(const ClusterSpec& wanted, ClusterSpec& cluster);

}  // namespace tune
