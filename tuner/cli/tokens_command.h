// `tune tokens`: who may join the tuners of this database; makes and revokes. A living tuner heeds
// a change at once.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "core/time.h"
#include "tuner/cli/text_table.h"

namespace tune {

struct TokensOptions {
  std::string db_path;
  bool make_new = false;
  std::string revoke;  // An id; empty: none.
  Duration validity;   // Of a new one.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Lists; or makes one, and prints the line to join with; or revokes. Returns the exit status: 0, or
// 1 or 2 with one line on `err`.
int TokensCommand(const TokensOptions& options, Instant now, std::ostream& out, std::ostream& err);

}  // namespace tune
