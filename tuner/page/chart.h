// A picture of a sweep as data: axes and what is drawn over them. A terminal (chart_text.h) and an
// SVG file (chart_svg.h) draw the same chart.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tune {

enum class Scale { kLinear, kLog };

struct Axis {
  std::string label;  // With its unit: "time (min)".
  Scale scale = Scale::kLinear;
  double low = 0, high = 1;             // low < high; above 0 on a log scale.
  std::vector<std::string> words = {};  // Of a list: word i stands at i.

  // 0 at `low`, 1 at `high`; beyond them for values that are not shown.
  double ShareOf(double value) const;
};

struct Tick {
  double value = 0;
  std::string text;
};

// At most `count_max` places of an axis (two at least, where it has two), rising: 1, 2 and 5 times
// powers of ten; on a log scale powers of ten where they are enough.
std::vector<Tick> TicksOf(const Axis& axis, size_t count_max);

// Whether two numbers, low <= high, differ in no more than the last bits of a double. Means of the
// same numbers in another order differ so, and an axis cannot be divided between them.
bool AreAlike(double low, double high);

// An axis for values from `low` to `high`, with a little room on both sides. Where all values are
// alike, around them.
Axis AxisFor(std::string label, Scale scale, double low, double high);

enum class Mark { kLine, kSteps, kPoints };

struct Series {
  std::string name;
  Mark mark = Mark::kLine;
  std::vector<std::pair<double, double>> points;  // Finite.
  // 0: one of many, in the background; 1 to 5: told apart by colour and in another way, too.
  int rank = 0;
  // Over places that it does not have: between those before and behind them.
  bool is_bridge = false;
};

// A share of a whole, with the interval in which it lies.
struct Bar {
  std::string name;
  double value = 0, low = 0, high = 0;  // 0 to 1.
  bool is_clear = true;                 // Else it may be chance.
};

struct Chart {
  std::string title;
  std::vector<std::string> notes;  // What must be known to read it.
  Axis x, y;
  std::vector<Series> series;
  // Parallel coordinates: series go from column 0 to the last, over the columns' own shares (0 to
  // 1); x and y are not looked at.
  std::vector<Axis> columns = {};
  // Bars in the place of all of these.
  std::vector<Bar> bars = {};
};

}  // namespace tune
