// What the database knows of the artifacts, for artifact_garbage.h and for copies of them.
//
// Thread rule: as Database.
#pragma once

#include <string>

#include "core/status.h"
#include "tuner/artifact_garbage.h"
#include "tuner/sqlite/database.h"

namespace tune {

// All sweeps, or the named one, with their trials, and of these the checkpoints that lie in a
// trial's folder. From one state of the database, which must be in no transaction. `has_tuner` is
// left false.
Result<KnownSweeps> ReadKnownSweeps(Database& database, const std::string& sweep = "");

}  // namespace tune
