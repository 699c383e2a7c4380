// What one seed of a simulated head is about: what is submitted when, its workers, and which faults
// happen how often. Each seed turns on a random subset of the faults.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/time.h"
#include "tests/sim/head_worker.h"

namespace tune::sim {

// What is submitted, when.
struct Submission {
  std::string name;
  std::string spec;  // JSON.
  uint64_t seed = 0;
  Duration at;
  int64_t iterations = 1;
  bool is_order_free = false;  // Its trials end as they would alone.
};

// What one seed is about.
struct HeadSwarm {
  std::vector<Submission> submissions;
  std::vector<HeadWorker::Options> workers;
  Duration latency_max;
  Duration commit_time_max;
  Duration fault_time;
  Duration lease;
  bool has_clock_jumps = false;
  // Mean times between faults; 0: never.
  Duration kill, kill_in_commit, power_loss, disk_full, disk_error, stop;
  Duration worker_kill, cut, unfit, drain, command, interrupt;
};

HeadSwarm DrawHeadSwarm(uint64_t seed);

}  // namespace tune::sim
