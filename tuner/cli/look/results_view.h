// Trials for a person: the columns that are looked for, laid out so that no parameter is ever cut.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <vector>

#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/trial_listing.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

enum class ShownColumns {
  kUsual,  // Number, status, value, parameters, iterations, and why trials failed.
  kAll,
  kNamed,
};

struct ResultsView {
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
  ShownColumns shown = ShownColumns::kUsual;
  std::vector<size_t> columns;  // Of kNamed.
};

// `rows` of the table, in their order. A table leaves out parameters that are the same in all
// trials and tells them on `err`. Where a terminal is too narrow, the usual columns have all
// parameters in one column that goes on below; others are shown a line a column.
void PrintTrials(const ResultsView& view, const FoundSweep& sweep, const TrialListing& table,
                 const std::vector<size_t>& rows, std::ostream& out, std::ostream& err);

// The same of a table by configuration: in a table the runs that count, the mean, the deviation,
// the best and the worst run.
void PrintConfigurations(const ResultsView& view, const TrialListing& table,
                         const std::vector<size_t>& rows, std::ostream& out, std::ostream& err);

}  // namespace tune
