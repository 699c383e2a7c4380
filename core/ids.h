// Identities as distinct types, so that a trial's number cannot be given where an attempt's is
// meant.
#pragma once

#include <compare>
#include <cstdint>

namespace tune {

template <typename Tag>
struct Id {
  int64_t value = 0;
  friend auto operator<=>(const Id&, const Id&) = default;
};

using ExperimentId = Id<struct ExperimentTag>;  // The database's row, from 1.
using TrialNumber = Id<struct TrialTag>;        // Within its experiment, from 0.
using AttemptNumber = Id<struct AttemptTag>;    // Within its trial, from 1.
using WorkerId =
    Id<struct WorkerTag>;  // Within its experiment, from 1; a reconnecting worker gets a new one.
// Each start of an attempt carries a new epoch, rising over the whole experiment; what comes with
// an older one is from the dead and is refused (fencing).
using LeaseEpoch = Id<struct LeaseTag>;

}  // namespace tune
