// `tune results [NAME]`: the trials of a sweep with their parameters and metrics, or any query.
//
// The columns are those of trial_listing.h. CSV and JSON have them all and are ordered by number,
// for scripts; a table has those that a person looks for (results_view.h), the best trial first.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

#include "tuner/cli/words/text_table.h"

namespace tune {

// What a row is, of a sweep that tries each configuration several times.
enum class ResultRows {
  kUsual,  // Configurations in a table and with `top`, unless trials are chosen or columns named.
  kRuns,
  kConfigurations,
};

struct ResultsOptions {
  std::string db_path;
  std::string name;   // "": the latest sweep.
  bool best = false;  // The best trial alone; of several objectives the Pareto front.
  ResultRows rows = ResultRows::kUsual;
  // A column, the best first if it is the metric or one of its values, else ascending; "-COL" is
  // descending, "+COL" ascending.
  std::string sort;
  std::string where;         // An SQL expression over the columns above.
  int64_t top = 0;           // The best so many, the best first; 0: no such choice.
  int64_t limit = 0;         // At most so many rows; 0: all.
  std::string columns;       // Their names, parted by commas.
  bool all = false;          // All columns.
  bool course = false;       // How the best, or the front's hypervolume, came to be.
  bool with_failed = false;  // A trial in ERROR may be the best.
  // A whole query over the database's views, in place of all that; :experiment is the sweep's id.
  std::string sql;
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0, or 2 with one line on `err`.
int ResultsCommand(const ResultsOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
