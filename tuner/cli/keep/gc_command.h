// `tune gc [--dry-run] [--vacuum]`: removes what nothing needs any more: checkpoints that were
// given up or never told of, folders of deleted sweeps, what a killed tuner left beside the
// database, and what a worker's cache has beyond its budget. What a trial could go on from is never
// touched; of a sweep that a tuner runs, only ended trials.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

#include "core/clock.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct GcOptions {
  std::string db_path;
  bool dry_run = false;    // Only says what would be removed; takes no lock.
  bool vacuum = false;     // Also packs the database; refused while a tuner lives.
  std::string cache = {};  // Of this machine's workers, kept within its budget; empty: left alone.
  int64_t cache_budget_bytes = 0;
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// A row a removed thing on `out`, what was freed on `err`. Returns the exit status: 0; 1 when
// something could not be removed, or a tuner lives and `vacuum` is asked; 2 with one line on `err`.
int GcCommand(const GcOptions& options, const Clock& clock, std::ostream& out, std::ostream& err);

}  // namespace tune
