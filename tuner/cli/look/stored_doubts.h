// The doubts of a stored sweep (tuner/doubts.h).
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/doubts.h"
#include "tuner/sqlite/database.h"

namespace tune {

// In order of their first; of a database that an older program wrote, none.
Result<std::vector<Doubt>> ReadDoubts(Database& database, int64_t experiment);

// Of one trial, by its id.
Result<std::vector<std::string>> ReadNotes(Database& database, int64_t trial);

// A line for each, "in doubt: ...".
Status PrintDoubts(Database& database, int64_t experiment, std::ostream& err);

}  // namespace tune
