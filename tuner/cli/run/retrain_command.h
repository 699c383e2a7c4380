// `tune retrain NAME --top K --seeds S`: the best configurations of a sweep (of several
// objectives those of its Pareto front) once more, at full
// length and several runs of each, as a sweep of its own, NAME-retrain (tuner/retrain.h). It runs,
// and is resumed, as every sweep; at its end it shows what each configuration came to, and again
// with --show.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tuner/cli/run/run_command.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct RetrainOptions {
  std::string name;  // Of the earlier sweep; empty: the latest.
  // Nothing: one; of several objectives the whole front.
  std::optional<int64_t> top;
  std::vector<int64_t> trials;  // The configurations of these, in place of the best.
  int64_t seeds = 3;
  bool show = false;  // Only what an earlier call came to.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
  RunOptions run;    // But for space_path, samples and overrides.
};

// Returns the exit status: that of the sweep, or 2 with one line on `err`.
int RetrainCommand(const RetrainOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
