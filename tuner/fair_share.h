// Which of several sweeps is given the next lease: the one that has least of what it is due
// (dominant resource fairness: Ghodsi et al., NSDI 2011, with weights), those of a higher priority
// first. Shares are those of the moment, so nobody is in debt for what it had before.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "trial_runner/lease_table.h"

namespace tune {

// What a sweep is due beside others.
struct Share {
  int64_t priority = 0;  // Higher ones are served first.
  int64_t weight = 100;  // Of two with the same priority, one with twice the weight gets twice.
};

struct Claimant {
  ExperimentId sweep;
  Share share;
  Usage used;
  std::optional<Instant> waiting_since;  // It wants more, and got none since then.
};

// For each so long a wait a sweep counts as one priority higher, up to so many: none waits for
// ever.
constexpr Duration kAgeing = Seconds(600);
constexpr int64_t kAgeingMax = 100;

// Indices into `claimants`, whose turn is first first. `total`: of all workers. The order is total:
// the same claimants in any order are sorted alike.
std::vector<size_t> FairOrder(const std::vector<Claimant>& claimants, const Usage& total,
                              Instant now);

}  // namespace tune
