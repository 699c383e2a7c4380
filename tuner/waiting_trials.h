// What a living sweep gives out and what waits for it, as only its tuner knows: who holds what of
// each worker, and why each trial that neither runs nor is over does not run.
//
// Thread rule: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/time.h"

namespace tune {

class SweepView;

// Lines of JSON, one for each worker that holds leases or may get some: {"worker": "gpu-1",
// "address": "10.0.0.7:4711", "is_local": false, "state": "draining", "cpus": 8, "slices":
// [{"trial": 3, "cpus": 4}], "silent_seconds": 0.4, "waits_for": "checkpoints: cannot ..."}; a
// slice of another sweep has its name, too: "sweep". The state is "alive", "draining" or "away":
// not connected, its trials are waited for. silent_seconds is null where nobody knows, waits_for
// where nothing waits there.
struct HeardOfWorker {
  std::optional<Instant> at;  // When it was last heard of.
  std::string waits_for;      // One line.
};
std::vector<std::string> EncodeWorkers(const SweepView& sweep, Instant now,
                                       const std::function<HeardOfWorker(WorkerId)>& heard_of);

// Lines of JSON, one for each trial that waits, by number, at most `lines_max`; the last one is of
// those that are still to come, if there are any: {"trial": 3, "count": 1, "why": "backs off until
// ..."}, {"trial": null, "count": 12, "why": "..."}; -1: as many as there is time for.
std::vector<std::string> EncodeWaiting(const SweepView& view, size_t lines_max);

}  // namespace tune
