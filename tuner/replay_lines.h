// The journal's side of row_lines.h.
//
// Thread rule: one thread; a pure function.
#pragma once

#include <vector>

#include "core/status.h"
#include "tuner/experiment_controller.h"
#include "tuner/row_lines.h"
#include "tuner/store.h"

namespace tune {

// Applies the journal to a fresh controller whose suggestions have been restored, and keeps the
// rows that it would have written. Errors: events that cannot be read.
Result<SweepLines> ReplayLines(const std::vector<JournalStep>& journal,
                               ExperimentController& controller);

}  // namespace tune
