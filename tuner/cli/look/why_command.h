// `tune why TRIAL`: why a trial is where it is, from the database alone: each decision with rung,
// value, cutoff, rank and count, and each attempt with its end.
//
// - table: a sentence, the reports (runs of them that nothing was decided on in one line), the
//   attempts.
// - csv: a line for each report and each attempt, in order; `kind` says which.
// - json: one object with the lists `reports` and `attempts`.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "tuner/cli/words/text_table.h"

namespace tune {

struct WhyOptions {
  std::string db_path;
  std::string trial;  // "3" in the latest sweep, or "food11/3".
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0, or 2 with one line on `err`.
int WhyCommand(const WhyOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
