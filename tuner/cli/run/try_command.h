// `tune run --try-one`: one trial to its first report, and what was read from which line. The sweep
// runs in a temporary database, so that nothing of it is kept.
//
// Thread rule: one thread.
#pragma once

#include <ostream>

#include "tuner/cli/run/run_command.h"

namespace tune {

// The exit status: 0 the metric was reported, 3 the trial ended without it, 2 nothing was started.
int TryOne(const RunOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
