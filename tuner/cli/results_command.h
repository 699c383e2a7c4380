// `tune results [NAME]`: the trials of a sweep with their parameters and metrics, or any query.
//
// Columns: number, status, stop_reason, iterations, best_value, best_iteration, last_value,
// attempts, run_seconds, then the parameters ("optimizer/lr"), then the metrics of each trial's
// last report. A parameter or metric whose name is taken is called "param.NAME" or "metric.NAME". A
// table leaves out parameters that are the same in all trials and tells them on `err`.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "tuner/cli/text_table.h"

namespace tune {

struct ResultsOptions {
  std::string db_path;
  std::string name;   // "": the latest sweep.
  bool best = false;  // The best trial alone; of several objectives the Pareto front.
  // A column, the best first if it is the metric or one of its values, else ascending; "-COL" is
  // descending, "+COL" ascending.
  std::string sort;
  std::string where;  // An SQL expression over the columns above.
  std::string sql;    // A whole query over the database's views, in place of all that.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0, or 2 with one line on `err`.
int ResultsCommand(const ResultsOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
