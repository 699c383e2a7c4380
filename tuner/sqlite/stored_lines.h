// The tables' side of row_lines.h.
//
// Thread rule: as Database.
#pragma once

#include <cstdint>

#include "core/status.h"
#include "tuner/row_lines.h"
#include "tuner/sqlite/database.h"

namespace tune {

Result<SweepLines> ReadStoredLines(Database& database, int64_t experiment);

}  // namespace tune
