// `tune list`: all sweeps of a database, oldest first.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "core/clock.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct ListOptions {
  std::string db_path;
  bool names = false;             // The names alone, a line each, in any format.
  std::vector<std::string> tags;  // Those that have all of them: "team=vision", or a key alone.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0, or 2 with one line on `err`.
int ListCommand(const ListOptions& options, const Clock& clock, std::ostream& out,
                std::ostream& err);

}  // namespace tune
