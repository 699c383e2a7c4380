// Between a sweep's machines, which know of no other one, and the wire, where each attempt is named
// with its sweep (trial_runner/messages.h): the number is put on what goes out and taken off what
// comes in. What is of another sweep keeps its number, and is nobody's.
//
// Thread rule: pure functions.
#pragma once

#include "core/ids.h"
#include "trial_runner/messages.h"
#include "tuner/event.h"

namespace tune {

void MarkSweep(ExperimentId sweep, ToWorker& message);
void UnmarkSweep(ExperimentId sweep, Event& event);

}  // namespace tune
