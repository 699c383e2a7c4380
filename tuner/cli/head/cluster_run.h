// `tune run SPACE --cluster FILE`: the cluster comes up, the sweep runs there, the cluster goes
// down.
//
// Thread rule: one thread.
#pragma once

#include <ostream>

#include "core/clock.h"
#include "tuner/cli/look/live_screen.h"
#include "tuner/cli/look/status_command.h"
#include "tuner/cli/run/run_command.h"

namespace tune {

// A cluster that was up before stays up. One that a `tune run` brought up goes down with the last
// `tune run` on it: it stays up while a sweep other than this one is open. Returns the sweep's exit
// status; that of `tune cluster down` where the sweep went well and that did not; 130 where `wait`
// says so: where the cluster goes down the sweep is interrupted, and goes on when the cluster is up
// again.
int RunOnCluster(const RunOptions& options, const Clock& clock, const WaitFunction& wait,
                 LiveScreen& screen, std::ostream& out, std::ostream& err);

}  // namespace tune
