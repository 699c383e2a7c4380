#include "tuner/page/chart_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

constexpr Style kRankStyles[] = {Style::kFaint,   Style::kGood,  Style::kAccent,
                                 Style::kWarning, Style::kOther, Style::kBad};
constexpr char kRankLetters[] = ".abcde";

size_t RankOf(const Series& series) { return static_cast<size_t>(std::clamp(series.rank, 0, 5)); }

std::string Braille(uint8_t dots) {
  const int code = 0x2800 + dots;
  return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

// Cells of a terminal, each of 2 by 4 dots, or of one letter.
class Canvas {
 public:
  Canvas(size_t columns, size_t rows, bool is_ascii)
      : columns_(columns), rows_(rows), is_ascii_(is_ascii), cells_(columns * rows) {}

  // Of places in dots.
  int64_t width() const { return static_cast<int64_t>(columns_ * (is_ascii_ ? 1 : 2)); }
  int64_t height() const { return static_cast<int64_t>(rows_ * (is_ascii_ ? 1 : 4)); }

  void Dot(int64_t x, int64_t y, size_t rank) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    Cell& cell = At(x, y);
    static constexpr uint8_t kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cell.dots |= is_ascii_ ? 1 : kDots[y % 4][x % 2];
    if (rank > 0) cell.rank = rank;
  }

  void Line(int64_t x0, int64_t y0, int64_t x1, int64_t y1, size_t rank) {
    const int64_t steps = std::max<int64_t>(1, std::max(std::abs(x1 - x0), std::abs(y1 - y0)));
    // Far beyond the edges nothing is seen.
    if (steps > 1'000'000) return;
    // The background is dotted, so that it differs without colour, too.
    const int64_t stride = rank == 0 && !is_ascii_ ? 3 : 1;
    const int64_t first = (std::abs(x0) + std::abs(y0)) % stride;  // Neighbours are not alike.
    for (int64_t i = first; i <= steps; i += stride) {
      Dot(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, rank);
    }
  }

  // A letter in the place of dots.
  void Letter(int64_t x, int64_t y, const std::string& letter, size_t rank) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    Cell& cell = At(x, y);
    cell.letter = letter;
    cell.rank = rank;
  }

  void AppendRow(size_t row, StyledLine& line) const {
    for (size_t column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[row * columns_ + column];
      if (!cell.letter.empty()) {
        line.Add(cell.letter, kRankStyles[cell.rank]);
      } else if (cell.dots == 0) {
        line.Add(" ");
      } else {
        line.Add(is_ascii_ ? std::string(1, kRankLetters[cell.rank]) : Braille(cell.dots),
                 kRankStyles[cell.rank]);
      }
    }
  }

 private:
  struct Cell {
    uint8_t dots = 0;
    size_t rank = 0;
    std::string letter;
  };
  Cell& At(int64_t x, int64_t y) {
    const auto column = static_cast<size_t>(is_ascii_ ? x : x / 2);
    const auto row = static_cast<size_t>(is_ascii_ ? y : y / 4);
    return cells_[row * columns_ + column];
  }

  size_t columns_, rows_;
  bool is_ascii_;
  std::vector<Cell> cells_;
};

int64_t PlaceOf(double share, int64_t count) {
  const double place = share * static_cast<double>(count - 1);
  return static_cast<int64_t>(std::lround(std::clamp(place, -1e5, 1e5)));
}

void DrawSeries(const Series& series, const Axis& x, const Axis& y, Canvas& canvas, bool is_ascii) {
  const size_t rank = RankOf(series);
  std::optional<std::pair<int64_t, int64_t>> before;
  for (const auto& [px, py] : series.points) {
    const std::pair place{PlaceOf(x.ShareOf(px), canvas.width()),
                          canvas.height() - 1 - PlaceOf(y.ShareOf(py), canvas.height())};
    if (series.mark == Mark::kPoints) {
      if (rank > 0) {
        canvas.Letter(place.first, place.second,
                      is_ascii ? std::string(1, kRankLetters[rank]) : "●", rank);
      } else {
        canvas.Dot(place.first, place.second, rank);
      }
      continue;
    }
    if (before && series.mark == Mark::kSteps) {
      canvas.Line(before->first, before->second, place.first, before->second, rank);
      canvas.Line(place.first, before->second, place.first, place.second, rank);
    } else if (before) {
      canvas.Line(before->first, before->second, place.first, place.second, rank);
    } else {
      canvas.Dot(place.first, place.second, rank);
    }
    before = place;
  }
}

// The background first.
std::vector<const Series*> InOrder(const Chart& chart) {
  std::vector<const Series*> order;
  for (const Series& series : chart.series) order.push_back(&series);
  std::stable_sort(order.begin(), order.end(), [](const Series* a, const Series* b) {
    // Of those that are told apart the first comes last, above all.
    const auto place = [](const Series* s) { return s->rank == 0 ? -100 : -s->rank; };
    return place(a) < place(b);
  });
  return order;
}

void AppendLegend(const Chart& chart, const ChartForm& form, std::vector<StyledLine>& lines) {
  StyledLine line;
  std::set<int> told;
  std::vector<const Series*> order;
  for (const Series& series : chart.series) order.push_back(&series);
  std::stable_sort(order.begin(), order.end(), [](const Series* a, const Series* b) {
    return (a->rank == 0 ? 100 : a->rank) < (b->rank == 0 ? 100 : b->rank);
  });
  for (const Series* const series : order) {
    if (series->name.empty() || !told.insert(series->rank).second) continue;
    const size_t rank = RankOf(*series);
    const std::string mark = form.is_ascii                   ? std::string(1, kRankLetters[rank])
                             : series->mark == Mark::kPoints ? (rank > 0 ? "●" : "⠂")
                             : rank > 0                      ? "─"
                                                             : "⠤";
    const std::string name = " " + Printable(series->name);
    if (line.width() > 0 && line.width() + 4 + DisplayWidth(name) > form.width) {
      lines.push_back(std::exchange(line, {}));
    }
    if (line.width() > 0) line.Add("   ");
    line.Add(mark, kRankStyles[rank]).Add(name);
  }
  lines.push_back(std::move(line));
}

std::string Right(const std::string& text, size_t width) {
  const std::string cut = CutToWidth(text, width);
  return std::string(width - DisplayWidth(cut), ' ') + cut;
}

// Texts centred at columns, as far as they do not meet.
std::string Placed(const std::vector<std::pair<size_t, std::string>>& texts, size_t width) {
  std::string line;
  size_t used = 0;
  for (const auto& [at, text] : texts) {
    const size_t wide = DisplayWidth(text);
    if (wide > width) continue;
    const size_t begin = std::min(at > wide / 2 ? at - wide / 2 : 0, width - wide);
    if (used > 0 && begin < used + 1) continue;
    line += std::string(begin - used, ' ') + text;
    used = begin + wide;
  }
  return line;
}

// Where the lines that are told apart end: their names, at the right, by row, in the order of their
// ends.
std::vector<std::pair<std::string, size_t>> EndNames(const Chart& chart, size_t rows) {
  std::vector<const Series*> ends;
  for (const Series& series : chart.series) {
    if (series.rank > 0 && series.mark == Mark::kLine && !series.points.empty()) {
      ends.push_back(&series);
    }
  }
  const auto share = [&](const Series* series) {
    return std::clamp(1 - chart.y.ShareOf(series->points.back().second), 0.0, 1.0);
  };
  std::stable_sort(ends.begin(), ends.end(),
                   [&](const Series* a, const Series* b) { return share(a) < share(b); });
  std::vector<std::pair<std::string, size_t>> names(rows);
  size_t next = 0;
  for (size_t i = 0; i < ends.size() && next < rows; ++i) {
    const auto wanted = static_cast<size_t>(share(ends[i]) * static_cast<double>(rows - 1) + 0.5);
    // Those below need a row each.
    const size_t last = rows - std::min(rows, ends.size() - i);
    const size_t row = std::max(next, std::min(wanted, last));
    names[row] = {Printable(ends[i]->name), RankOf(*ends[i])};
    next = row + 1;
  }
  return names;
}

void RenderAxes(const Chart& chart, const ChartForm& form, std::vector<StyledLine>& lines) {
  constexpr size_t kAround = 6;  // Title, label above, axis, ticks, label below, legend.
  constexpr size_t kRowsMin = 4;
  const size_t taken = kAround + chart.notes.size();
  const size_t rows = std::max(kRowsMin, form.height > taken ? form.height - taken : 0);
  const std::vector<Tick> y_ticks = TicksOf(chart.y, std::max<size_t>(2, rows / 3));
  size_t gutter = 0;
  for (const Tick& tick : y_ticks) gutter = std::max(gutter, DisplayWidth(tick.text));
  gutter = std::min(gutter, form.width / 4);
  const std::vector<std::pair<std::string, size_t>> names = EndNames(chart, rows);
  size_t margin = 0;
  for (const auto& [name, rank] : names) margin = std::max(margin, DisplayWidth(name));
  margin = margin > 0 && form.width >= 50 ? std::min<size_t>(margin + 1, 16) : 0;
  const size_t columns = form.width > gutter + 1 + margin ? form.width - gutter - 1 - margin : 1;
  Canvas canvas(columns, rows, form.is_ascii);
  for (const Series* const series : InOrder(chart)) {
    DrawSeries(*series, chart.x, chart.y, canvas, form.is_ascii);
  }
  lines.emplace_back(Printable(chart.y.label) + (chart.y.scale == Scale::kLog ? " (log)" : ""),
                     Style::kFaint);
  std::vector<std::string> gutters(rows);
  for (const Tick& tick : y_ticks) {
    const int64_t row = static_cast<int64_t>(rows) - 1 -
                        PlaceOf(chart.y.ShareOf(tick.value), static_cast<int64_t>(rows));
    if (row >= 0 && row < static_cast<int64_t>(rows)) gutters[static_cast<size_t>(row)] = tick.text;
  }
  for (size_t row = 0; row < rows; ++row) {
    const char* const wall = form.is_ascii ? "|" : gutters[row].empty() ? "│" : "┤";
    StyledLine line(Right(gutters[row], gutter) + wall);
    canvas.AppendRow(row, line);
    if (margin > 0 && !names[row].first.empty()) {
      line.Add(" " + names[row].first, kRankStyles[names[row].second]);
    }
    lines.push_back(std::move(line));
  }
  const std::vector<Tick> x_ticks = TicksOf(chart.x, std::max<size_t>(2, columns / 10));
  std::vector<std::pair<size_t, std::string>> texts;
  std::vector<bool> is_tick(columns);
  for (const Tick& tick : x_ticks) {
    const int64_t column = PlaceOf(chart.x.ShareOf(tick.value), static_cast<int64_t>(columns));
    if (column < 0 || column >= static_cast<int64_t>(columns)) continue;
    is_tick[static_cast<size_t>(column)] = true;
    texts.emplace_back(gutter + 1 + static_cast<size_t>(column), Printable(tick.text));
  }
  std::string axis = std::string(gutter, ' ') + (form.is_ascii ? "+" : "└");
  for (size_t i = 0; i < columns; ++i) {
    axis += form.is_ascii ? (is_tick[i] ? "+" : "-") : (is_tick[i] ? "┬" : "─");
  }
  lines.emplace_back(axis);
  lines.emplace_back(Placed(texts, form.width));
  const std::string label =
      Printable(chart.x.label) + (chart.x.scale == Scale::kLog ? " (log)" : "");
  lines.emplace_back(
      Placed({{gutter + 1 + columns / 2, CutToWidth(label, form.width)}}, form.width),
      Style::kFaint);
  AppendLegend(chart, form, lines);
}

void RenderColumns(const Chart& chart, const ChartForm& form, std::vector<StyledLine>& lines) {
  const size_t taken = 5 + chart.notes.size();
  const size_t rows = std::max<size_t>(4, form.height > taken ? form.height - taken : 0);
  const size_t count = chart.columns.size();
  // The names of the first and the last column stand around their lines.
  const size_t columns = form.width;
  Canvas canvas(columns, rows, form.is_ascii);
  const Axis x{"", Scale::kLinear, -0.3, static_cast<double>(count) - 0.7};
  const Axis y{"", Scale::kLinear, 0, 1};
  for (const Series* const series : InOrder(chart))
    if (!series->is_bridge) DrawSeries(*series, x, y, canvas, form.is_ascii);
  std::vector<std::pair<size_t, std::string>> names, tops, bottoms;
  const size_t room = std::max<size_t>(4, columns / count - 1);
  for (size_t i = 0; i < count; ++i) {
    const Axis& column = chart.columns[i];
    const int64_t at = PlaceOf(x.ShareOf(static_cast<double>(i)), canvas.width());
    for (int64_t row = 0; row < canvas.height(); row += form.is_ascii ? 1 : 4) {
      canvas.Letter(at, row, form.is_ascii ? "|" : "│", 0);
    }
    const size_t place = static_cast<size_t>(at) / (form.is_ascii ? 1 : 2);
    const auto shown = [&](const std::string& text) { return CutToWidth(Printable(text), room); };
    const bool is_list = !column.words.empty();
    names.emplace_back(place, shown(column.label + (column.scale == Scale::kLog ? " log" : "")));
    tops.emplace_back(place, shown(is_list ? column.words.back() : ShortNumber(column.high)));
    bottoms.emplace_back(place, shown(is_list ? column.words.front() : ShortNumber(column.low)));
  }
  lines.emplace_back(Placed(names, form.width), Style::kStrong);
  lines.emplace_back(Placed(tops, form.width));
  for (size_t row = 0; row < rows; ++row) {
    StyledLine line;
    canvas.AppendRow(row, line);
    lines.push_back(std::move(line));
  }
  lines.emplace_back(Placed(bottoms, form.width));
  AppendLegend(chart, form, lines);
}

void RenderBars(const Chart& chart, const ChartForm& form, std::vector<StyledLine>& lines) {
  size_t name_width = 0;
  for (const Bar& bar : chart.bars)
    name_width = std::max(name_width, DisplayWidth(Printable(bar.name)));
  name_width = std::min(name_width, form.width / 3);
  constexpr size_t kNumbers = 20;  // "  45 %  (30 to 60 %)"
  const size_t used = name_width + 2 + kNumbers;
  const size_t room = form.width > used ? form.width - used : 1;
  const auto percent = [](double share) { return std::to_string(std::lround(share * 100)); };
  for (const Bar& bar : chart.bars) {
    const auto cells = static_cast<size_t>(std::lround(bar.value * static_cast<double>(room)));
    std::string filled;
    for (size_t i = 0; i < cells; ++i) {
      filled += form.is_ascii ? (bar.is_clear ? "#" : "-") : (bar.is_clear ? "█" : "░");
    }
    StyledLine line(Right(Printable(bar.name), name_width) + "  ");
    line.Add(filled, bar.is_clear ? Style::kGood : Style::kFaint);
    line.Add(" " + percent(bar.value) + " %  (" + percent(bar.low) + " to " + percent(bar.high) +
             ")");
    lines.push_back(std::move(line));
  }
}

}  // namespace

std::vector<std::string> RenderText(const Chart& chart, const ChartForm& form) {
  std::vector<StyledLine> lines = {StyledLine(Printable(chart.title), Style::kStrong)};
  if (!chart.bars.empty()) {
    RenderBars(chart, form, lines);
  } else if (!chart.columns.empty()) {
    RenderColumns(chart, form, lines);
  } else {
    RenderAxes(chart, form, lines);
  }
  std::vector<std::string> texts;
  for (const StyledLine& line : lines) texts.push_back(line.Render(form.width, form.palette));
  for (const std::string& note : chart.notes) {
    for (const std::string& line : WrapToWidth(Printable(note), form.width)) texts.push_back(line);
  }
  if (form.is_ascii) {
    // What was cut to its place.
    const std::string dots = "…";
    for (std::string& text : texts) {
      for (size_t at = 0; (at = text.find(dots, at)) != std::string::npos;) {
        text.replace(at, dots.size(), "~");
      }
    }
  }
  return texts;
}

}  // namespace tune
