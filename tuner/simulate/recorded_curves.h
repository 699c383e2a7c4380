// Learning curves that somebody recorded: for each of them a configuration and what was reported at
// which iteration. Read from a table (curve_table.h) or from an earlier sweep.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/configuration.h"

namespace tune {

struct RecordedCurve {
  Configuration configuration;      // Of the space that is swept; several curves may share one.
  std::vector<int64_t> iterations;  // Rising, from 1; gaps are iterations without a report.
  std::vector<double> seconds;      // Of each report since the one before.
  std::vector<double> values;       // For each report one of each metric.
  std::vector<bool> was_reported;   // For each value. NaN may have been: such a trial diverged.
};

struct RecordedCurves {
  std::vector<std::string> metrics;
  std::vector<RecordedCurve> curves;
};

}  // namespace tune
