// `tune plot [NAME] curves|best|parallel|importance|slice [PARAMETER]`: a chart in the terminal, or
// an SVG file.
//
// Thread rule: one thread.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tuner/page/chart_text.h"

namespace tune {

struct PlotOptions {
  std::string db_path;
  std::vector<std::string> words;  // As they were said; one at least.
  ChartForm form;
  std::string svg_path;  // "": the terminal.
};

// Returns the exit status: 0; 1 or 2 with one line on `err`, also where there is nothing to draw
// yet. A file that is there is replaced, whole.
int PlotCommand(const PlotOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
