// How many workers dask-jobqueue asks for: `Adaptive` with its defaults, computed anew from
// distributed 2026.8.0 (Scheduler.adaptive_target, AdaptiveCore.recommendations; BSD licence).
// Memory plays no part, and a busy worker is never closed: both in its favour.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tune {

// A look at the site, once a second, its interval.
struct AdaptiveLook {
  int64_t queued = 0;                  // Tasks that no worker has.
  std::map<int64_t, int64_t> running;  // By worker that has joined: its tasks.
  std::set<int64_t> pending;           // Asked for, not joined.
  int64_t threads = 1;                 // Of a worker.
  int64_t max = 1;
};

struct AdaptiveOrder {
  int64_t ask = 0;
  std::vector<int64_t> close;
};

class Adaptive {
 public:
  void OnTaskDone(double seconds);
  AdaptiveOrder Look(const AdaptiveLook& look);

 private:
  int64_t Target(const AdaptiveLook& look) const;

  std::optional<double> task_seconds_;  // A moving average.
  std::map<int64_t, int> close_counts_;
};

}  // namespace tune
