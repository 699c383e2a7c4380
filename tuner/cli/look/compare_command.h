// `tune compare TRIAL TRIAL...`: what is different between trials, of one sweep or of several.
//
// A table has a row for each thing that differs, and what is the same on `err`. CSV and JSON have a
// row for each thing and say whether it differs.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "tuner/cli/words/text_table.h"

namespace tune {

struct CompareOptions {
  std::string db_path;
  std::vector<std::string> words;  // "3", "food11/3", or a sweep's name before numbers: food11 3 7.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0, or 2 with one line on `err`.
int CompareCommand(const CompareOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
