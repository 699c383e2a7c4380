// Recorded curves as a CSV table with a line for each report:
//
//   lr,optimizer/kind,training_iteration,val_loss,seconds
//   0.1,adam,1,0.9,12.5
//   0.1,adam,2,0.7,12.4
//
// Columns, in any order: each parameter of the space by its flat name (a constant's may be left
// out; an empty cell: it does not exist under its condition), `training_iteration` or `iteration`,
// `seconds` of the report since the one before (left out: 1 each), the metrics that the sweep
// needs, and others, which are reported too. An empty metric is one that was not reported; nan is a
// value, the worst.
//
// The lines of one configuration are one curve, their iterations rising; lines of different curves
// may alternate. A column `trial` makes the lines with one text in it a curve, so that a
// configuration may have been recorded several times.
//
// Thread rule: pure functions.
#pragma once

#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "search/space.h"
#include "tuner/simulate/recorded_curves.h"

namespace tune {

// `needed`: metrics that must have a column. Errors: "file:line:column: ...".
Result<RecordedCurves> ReadCurveTable(std::istream& in, std::string_view file,
                                      const SearchSpace& space,
                                      const std::vector<std::string>& needed);

}  // namespace tune
