// What was asked of a sweep while it ran, and by whom, as the database keeps it.
//
// Thread rule: as Database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/control/control_request.h"
#include "tuner/sqlite/database.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune {

// As it is kept of a request that changes something: by its key, or the user who runs this.
StoredChange ChangeOf(const ControlRequest& request, Instant now);

// The latest, the newest first, a line each: "2026-11-29T10:00:00.000Z set limits.max_concurrent=4,
// by ada (user)". Of more than `count` the last line says so. Who submitted it stands behind them,
// where a key did.
Result<std::vector<std::string>> DescribeChanges(Database& database, const FoundSweep& sweep,
                                                 int64_t count);

// Whether somebody asked to stop it; what the head stops by itself nobody asked for. Nothing: the
// database is of a program that kept no changes.
Result<std::optional<bool>> IsStopAskedFor(Database& database, int64_t sweep);

}  // namespace tune
