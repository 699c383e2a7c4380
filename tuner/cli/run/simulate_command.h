// `tune simulate`: a whole sweep in virtual time, over recorded curves or a formula, alone or with
// several schedulers side by side (tuner/simulate/).
//
// - One scheduler: what it came to; csv and json: one row.
// - Several, or several seeds: a row each with the epochs and the best value, and the best value at
//   each tenth of the time that fifo takes (the first one's, where fifo is not among them).
// What is said of the simulation itself (its wall time, curves that were too short or too far away)
// goes to `err`, so that the answer is the same each time.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/clock.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct SimulateOptions {
  std::string space_path;
  std::vector<std::string> overrides;  // --set.
  std::string curves;  // A CSV file, or a database, or one with ":NAME" of a sweep in it.
  int64_t workers = 1;
  std::optional<int64_t> cpus;  // Of each worker; default: as one trial needs.
  std::optional<int64_t> gpus;
  std::optional<int64_t> samples;
  std::optional<uint64_t> seed;
  int64_t seeds = 1;                    // Each scheduler is played with so many, from `seed` on.
  std::vector<std::string> compare;     // Names.
  std::vector<std::string> schedulers;  // As a space file writes them.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0; 2 with one line on `err` for bad input.
int SimulateCommand(const SimulateOptions& options, const Clock& clock, std::ostream& out,
                    std::ostream& err);

}  // namespace tune
