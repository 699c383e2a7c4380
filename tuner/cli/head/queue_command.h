// `tune queue`: which sweep or job of a living head is given the next free place, and why each
// waits.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "core/clock.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct QueueOptions {
  std::string db_path;
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0; 1 with one line on `err` where no head lives.
int QueueCommand(const QueueOptions& options, const Clock& clock, std::ostream& out,
                 std::ostream& err);

}  // namespace tune
