// The journal's side of row_lines.h.
//
// Thread rule: one thread; reads.
#pragma once

#include "core/status.h"
#include "tuner/experiment_controller.h"
#include "tuner/row_lines.h"
#include "tuner/store.h"

namespace tune {

// Applies the journal to a fresh controller whose suggestions have been restored, and keeps the
// rows that it would have written. Errors: events that cannot be read.
Result<SweepLines> ReplayLines(Store& store, ExperimentId experiment,
                               ExperimentController& controller);

}  // namespace tune
