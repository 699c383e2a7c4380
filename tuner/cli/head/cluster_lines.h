// What `tune cluster status` shows, as the head tells it: a line of JSON.
//
//   {"cluster": "lab", "file": "/home/ada/lab.yaml", "is_closing": false, "is_empty": false,
//    "is_ready": true,
//    "pools": [{"pool": "gpu", "engine": "slurm", "wanted": 3, "requested": 1, "joined": 2,
//               "away": 0, "draining": 0, "failed_requests": 0, "min": 0, "max": 16,
//               "why": "..."}],
//    "workers": [{"worker": "tune-lab-1a2b3c-gpu-1", "pool": "gpu", "state": "requested",
//                 "seconds": 3.1, "reason": "Priority"}],
//    "unreached": [],
//    "failed": [{"worker": ..., "pool": ..., "seconds_ago": 30, "why": ..., "log": [...]}],
//    "waiting": [{"sweep": "food11", "needs": "cpu: 4, gpu: 1", "trials": 8, "placed": 6,
//                 "why": "pool gpu: 2 requested (Priority); gpu has its max of 16"}]}
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <ostream>
#include <string>

#include "core/status.h"
#include "core/time.h"
#include "core/value.h"
#include "tuner/engines/cluster_file.h"
#include "tuner/engines/pool_book.h"

namespace tune {

// `is_ready`: each pool has its minimum of workers that joined. `unreached`: while it goes down,
// workers that nothing but their unreached hosts keeps from being given back; empty as long as
// anything else is left. A worker whose connection broke, and that is waited for, is `away`.
// `failed_requests`: since the head began.
std::string EncodeCluster(const ClusterSpec& cluster, const std::string& path, const PoolBook& book,
                          Instant now);

// What the pools do about the trials of each sweep that wait, by its name: which of them was asked
// for how many workers, what the engine says, and why no more are asked for. A sweep of which no
// trial waits is not in it.
std::map<std::string, std::string> WhatPoolsDo(const ClusterSpec& cluster, const PoolBook& book,
                                               Instant now);

// The same as EncodeCluster's as tables for a person, `width` wide.
void PrintCluster(const Value& cluster, size_t width, std::ostream& out);

}  // namespace tune
