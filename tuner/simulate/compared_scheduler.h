// The schedulers that `tune simulate --compare` puts side by side.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "tuner/experiment_spec.h"

namespace tune {

struct ComparedScheduler {
  std::string label;
  Value scheduler;  // As a spec has it.
};

// A scheduler by its name alone. The space's own keeps its options. Another one takes over those of
// max_t, grace_period and reduction_factor that it knows; where the space's has no max_t, that is
// `longest_curve`.
Result<ComparedScheduler> SchedulerNamed(std::string_view name, const ExperimentSpec& spec,
                                         int64_t longest_curve);

// A scheduler as a space file would write it: "{asha: {max_t: 27}}".
Result<ComparedScheduler> SchedulerWritten(const std::string& text, Mode mode);

}  // namespace tune
