#include "tuner/cli/words/styled_text.h"

#include <algorithm>
#include <cmath>

#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

const char* CodeOf(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kStrong:
      return "\x1b[1m";
    case Style::kFaint:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kWarning:
      return "\x1b[33m";
    case Style::kAccent:
      return "\x1b[36m";
    case Style::kOther:
      return "\x1b[35m";
  }
  return "";
}

}  // namespace

bool CanMoveCursor(std::string_view term) { return term != "dumb"; }

Palette PaletteFor(std::string_view term, std::string_view no_colour) {
  const bool has_colour = !term.empty() && CanMoveCursor(term) && no_colour.empty();
  return has_colour ? Palette::kColour : Palette::kPlain;
}

StyledLine& StyledLine::Add(std::string text, Style style) {
  if (!text.empty()) parts_.emplace_back(std::move(text), style);
  return *this;
}

size_t StyledLine::width() const {
  size_t width = 0;
  for (const auto& [text, style] : parts_) width += DisplayWidth(text);
  return width;
}

std::string StyledLine::Render(size_t width_max, Palette palette) const {
  std::string out;
  size_t left = width_max;
  size_t rest = width();
  for (const auto& [text, style] : parts_) {
    const size_t wide = DisplayWidth(text);
    // Where what follows does not fit, this part has one column less, for the "…".
    const bool fits = rest <= left || wide < left;
    const std::string shown = fits ? text : CutToWidth(text + "…", left);
    const char* const code = palette == Palette::kColour ? CodeOf(style) : "";
    out += *code == '\0' ? shown : code + shown + "\x1b[0m";
    if (!fits) return out;
    left -= wide;
    rest -= wide;
  }
  return out;
}

std::string Sparkline(const std::vector<double>& values, size_t width, double low, double high) {
  constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr double kTop = 7;
  const size_t shown = std::min(width, values.size());
  std::string out;
  for (size_t i = 0; i < shown; ++i) {
    const double value = values[(i + 1) * values.size() / shown - 1];
    if (!std::isfinite(value)) {
      out += ' ';
      continue;
    }
    const double share = high > low ? (value - low) / (high - low) : 0.5;
    out += kBlocks[static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * kTop))];
  }
  return out;
}

}  // namespace tune
