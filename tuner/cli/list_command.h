// `tune list`: all sweeps of a database, oldest first.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "tuner/cli/text_table.h"

namespace tune {

struct ListOptions {
  std::string db_path;
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0, or 2 with one line on `err`.
int ListCommand(const ListOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
