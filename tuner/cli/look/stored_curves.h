// The learning curves that an earlier sweep left in its database: a curve for each trial that
// reported.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "search/space.h"
#include "tuner/simulate/recorded_curves.h"

namespace tune {

// `name`: of the sweep; the latest for "". `needed`: metrics that some report must have. A report's
// seconds are those since the one before, or since its attempt began. Errors name the database, and
// the trial whose configuration is not in `space`.
Result<RecordedCurves> ReadStoredCurves(const std::string& db_path, const std::string& name,
                                        const SearchSpace& space,
                                        const std::vector<std::string>& needed);

}  // namespace tune
