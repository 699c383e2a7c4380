// `tune cluster down` where the head is gone: what it has left is given back.
//
// Thread rule: one thread.
#pragma once

#include <ostream>

#include "core/clock.h"
#include "tuner/cli/head/cluster_command.h"
#include "tuner/engines/cluster_file.h"

namespace tune {

// As a head that closes does: what it remembers to have asked for is given back, also what an
// engine does not list yet. Returns the exit status, as ClusterCommand does of down.
int GiveBackLeftovers(const ClusterOptions& options, const ClusterSpec& cluster, const Clock& clock,
                      const WaitFunction& wait, std::ostream& out, std::ostream& err);

}  // namespace tune
