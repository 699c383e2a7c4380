// A chart in a terminal: dots of braille letters (eight to a letter), or ASCII.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tuner/cli/words/styled_text.h"
#include "tuner/page/chart.h"

namespace tune {

struct ChartForm {
  size_t width = 80;
  size_t height = 24;  // Bars take as many lines as they are.
  bool is_ascii = false;
  Palette palette = Palette::kPlain;
};

// Lines, none wider than `width`.
std::vector<std::string> RenderText(const Chart& chart, const ChartForm& form);

}  // namespace tune
