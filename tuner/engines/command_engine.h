// Machines by commands of the user's own: `up` makes one, `down` removes it, `list` tells which
// there are.
//
// Thread rule: engine.h.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/engines/cluster_file.h"
#include "tuner/engines/engine.h"

namespace tune {

// `base_dir`: where the commands run. `prefix`: of the names of this pool's machines.
std::unique_ptr<Engine> MakeCommandEngine(const PoolSpec& pool, const std::string& base_dir,
                                          const std::string& prefix);

// What `list` printed: a line a machine, "NAME [STATE [REASON...]]", or a list of JSON with names
// or
// {"name": ..., "state": ..., "reason": ...}. The states pending and ended are known; a machine of
// any other one runs. Machines of other prefixes are left out. kInvalidArgument: it is neither.
Result<std::vector<Machine>> ParseMachineList(std::string_view text, std::string_view prefix);

}  // namespace tune
