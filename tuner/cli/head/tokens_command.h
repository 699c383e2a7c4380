// `tune tokens`: who may join the tuners of this database, and whose keys its page knows; makes and
// revokes. A living tuner and a page heed a change at once.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "core/time.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct TokensOptions {
  std::string db_path;
  std::vector<std::string> words;  // "create", or "revoke" and an id; none: lists.
  bool make_new = false;           // As create.
  std::string revoke;              // As its word; empty: none.
  std::string role;                // Of a new one; empty: a worker's.
  std::string name;                // Whose key it is.
  Duration validity;               // Of a new one.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Lists; or makes one, and prints the line to join with, or the page's address with the key; or
// revokes. Returns the exit status: 0, or
// 1 or 2 with one line on `err`.
int TokensCommand(const TokensOptions& options, Instant now, std::ostream& out, std::ostream& err);

}  // namespace tune
