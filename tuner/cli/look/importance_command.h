// `tune importance [NAME] [--metric M]`: which parameters mattered (search/importance.h), the most
// important first, each with a bar.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>

#include "core/metric.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct ImportanceOptions {
  std::string db_path = {};
  std::string name = {};          // "": the latest sweep.
  std::string metric = {};        // "": the sweep's, each of them where they are several.
  std::optional<Mode> mode = {};  // Needed for a metric that is not the sweep's.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// A trial counts with its best value of the sweep's metric; with its last one of another metric, or
// where the sweep has several. Where a scheduler stopped trials, they are compared at equal
// iterations: with their best value up to the iteration that half of them (at least ten) reached.
// Trials that failed, have no value or did not come so far are left out, and how many is said on
// `err`. Returns the exit status: 0; 2 with one line on `err`, also where too few trials
// have a value.
int ImportanceCommand(const ImportanceOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
