// A sweep as Markdown with pictures beside it, for a pull request or a paper.
//
// Thread rule: the database's thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

struct MarkdownReport {
  std::string markdown;
  std::vector<std::pair<std::string, std::string>> pictures;  // File names and SVG texts.
};

// `stem`: what the names of the pictures begin with. A picture that cannot be drawn yet is left out
// with the reason in its place.
Result<MarkdownReport> MakeMarkdownReport(Database& database, const FoundSweep& sweep,
                                          const std::string& stem, const Clock& clock);

}  // namespace tune
