// Whether a sweep that a tuner runs was paused by command: only its tuner knows.
//
// Thread rule: one thread.
#pragma once

#include <string>

#include "core/clock.h"
#include "tuner/cli/sweep_lookup.h"

namespace tune {

// A RUNNING sweep whose tuner says so becomes PAUSED. A tuner that does not answer in time changes
// nothing.
void TellPaused(const std::string& db_path, const Clock& clock, FoundSweep& sweep);

// RUNNING or PAUSED.
bool HasTuner(const FoundSweep& sweep);

}  // namespace tune
