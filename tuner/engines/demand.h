// What a head's sweeps wait for, and who is there, as scaling sees it.
//
// Thread rule: pure functions.
#pragma once

#include <vector>

#include "tuner/engines/workers_wanted.h"

namespace tune {

class Controller;

// Those whose turn is first first.
std::vector<WorkerDemand> DemandOf(const Controller& controller, Instant now);
// All that are connected, and those that are away and waited for.
std::vector<JoinedWorker> JoinedOf(const Controller& controller);

}  // namespace tune
