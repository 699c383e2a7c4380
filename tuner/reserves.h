// What is held free for sweeps with a `reserve` (space file): so many of their trials as the
// reserve has room for may begin at once, whoever else waits. A reserve holds room on workers that
// could run such a trial, and nowhere else. Where too little is free for a trial, the worker that
// lacks least gathers for it: what becomes free there stays free.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/ids.h"
#include "core/resources.h"
#include "trial_runner/placement.h"
#include "tuner/experiment_spec.h"

namespace tune {

// How many trials with this request `reserve` has room for; 0: it is none.
int64_t TrialsWorth(const Reserve& reserve, const ResourceRequest& request);

// Trials of one sweep for which room is held free.
struct HeldRoom {
  ResourceRequest request;  // Of each.
  int64_t trials = 0;
  std::set<WorkerId> unfit;  // Workers that cannot run them.
};

// What is left for others of `workers` when room is held free for all of `held`, in their order.
std::vector<WorkerView> WithoutReserves(const std::vector<HeldRoom>& held,
                                        std::vector<WorkerView> workers);

// The workers that must not be given a trial with `request` now: `held` needs what it would take.
// `except`: workers that it would not be given anyway.
std::set<WorkerId> ClosedByReserves(const std::vector<HeldRoom>& held,
                                    const ResourceRequest& request,
                                    const std::vector<WorkerView>& workers,
                                    const std::set<WorkerId>& except);

}  // namespace tune
