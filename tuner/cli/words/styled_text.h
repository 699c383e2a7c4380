// A line for a terminal, in parts that look different. Colour is never all that tells something: a
// terminal without it shows the same words.
//
// Thread rule: values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tune {

enum class Palette {
  kPlain,   // Text alone.
  kColour,  // The terminal's own sixteen colours (ECMA-48 SGR), which its user has chosen.
};

enum class Style { kPlain, kStrong, kFaint, kGood, kBad, kWarning, kAccent, kOther };

// How a terminal may be written to, by its environment: no colour with NO_COLOR (any text) or
// without TERM; nothing but plain lines with TERM=dumb.
bool CanMoveCursor(std::string_view term);
Palette PaletteFor(std::string_view term, std::string_view no_colour);

class StyledLine {
 public:
  StyledLine() = default;
  StyledLine(std::string text, Style style = Style::kPlain) { Add(std::move(text), style); }

  StyledLine& Add(std::string text, Style style = Style::kPlain);
  size_t width() const;
  // The longest beginning that fits, with "…" at its end if something was cut.
  std::string Render(size_t width_max, Palette palette) const;

 private:
  std::vector<std::pair<std::string, Style>> parts_;
};

// Eight heights of blocks, "▁▂▅█", at most `width` letters: of more values the last of each letter.
// `low` and `high` are the lowest and the highest block; values that are not finite are a space.
std::string Sparkline(const std::vector<double>& values, size_t width, double low, double high);

}  // namespace tune
