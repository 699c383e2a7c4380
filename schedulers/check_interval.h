// At which reports a pruner looks at a trial, as Optuna's pruners have it: from n_warmup_steps on,
// at the first report of each stretch of interval_steps. Steps are iterations.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <limits>

#include "core/option_map.h"

namespace tune {

struct CheckInterval {
  int64_t n_warmup_steps = 0;
  int64_t interval_steps = 1;

  // `previous`: the report before; 0 for the first.
  bool IsDue(int64_t iteration, int64_t previous) const {
    if (iteration < n_warmup_steps) return false;
    const int64_t start =
        iteration - (iteration - n_warmup_steps) % interval_steps;  // Of its stretch.
    return previous < start || previous == 0;
  }
};

inline Status ReadCheckInterval(const OptionMap& options, CheckInterval& interval) {
  constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();
  TUNE_RETURN_IF_ERROR(options.Read("n_warmup_steps", 0, kNoMax, interval.n_warmup_steps));
  return options.Read("interval_steps", 1, kNoMax, interval.interval_steps);
}

}  // namespace tune
