// A chart as an SVG file (SVG 1.1): a light background, the colours of Okabe and Ito ("Color
// Universal Design", 2008), which people with any colour vision can tell apart, and lines that
// differ by their dashes as well. Loads nothing and runs nothing.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "tuner/page/chart.h"

namespace tune {

std::string RenderSvg(const Chart& chart);

}  // namespace tune
