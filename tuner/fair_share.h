// Which of several sweeps is given the next lease: the one that has least of what it is due
// (dominant resource fairness: Ghodsi et al., NSDI 2011), those of a higher priority first. Owners
// share evenly, the sweeps of an owner by their weights. Shares are those of the moment, so nobody
// is in debt for what it had before. Sweeps that have less than is reserved for them come before
// all others, whatever their priority, and one that has waited very long before these, too.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "trial_runner/lease_table.h"
#include "tuner/experiment_spec.h"

namespace tune {

struct Claimant {
  ExperimentId sweep;
  Share share;
  Usage used;
  Usage used_by_owner;                   // By all its sweeps, those too that want no more.
  std::optional<Instant> waiting_since;  // It wants more, and got none since then.
  bool has_unmet_reserve = false;        // It has less than its reserve (reserves.h).
};

// For each so long a wait a sweep counts as one priority higher, up to so many.
constexpr Duration kAgeing = Seconds(600);
constexpr int64_t kAgeingMax = 100;
// A sweep that has waited so long comes before all others, with one trial: whatever their
// priorities, which may be further apart than waiting brings it, and before reserves, too.
constexpr Duration kBeforeReserves = Seconds(3600);

// Indices into `claimants`, whose turn is first first. `total`: of all workers. The order is total:
// the same claimants in any order are sorted alike.
std::vector<size_t> FairOrder(const std::vector<Claimant>& claimants, const Usage& total,
                              Instant now);

}  // namespace tune
