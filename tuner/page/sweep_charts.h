// The charts of a stored sweep, from what the page asks of the database.
//
// Thread rule: the database's thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/page/chart.h"
#include "tuner/sqlite/database.h"

namespace tune {

enum class ChartKind { kCurves, kBest, kParallel, kImportance, kSlice, kFront };

// "curves|best|parallel|importance|slice|front".
extern const char kChartNames[];
std::optional<ChartKind> FindChartKind(std::string_view name);

// `parameter`: of kSlice alone. kInvalidArgument: it is none of the space's (the nearest is named);
// kFailedPrecondition: there is nothing to draw yet, or for kFront one objective alone.
Result<Chart> MakeChart(Database& database, const FoundSweep& sweep, ChartKind kind,
                        const std::string& parameter = "");

}  // namespace tune
