#include "tuner/page/chart_svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

constexpr double kWidth = 800, kHeight = 460;
constexpr double kLeft = 84, kRight = 24, kTop = 48, kBottom = 92;
constexpr double kLine = 18;  // Of text.

struct Look {
  const char* colour;
  const char* dashes;  // "": none.
  double width;
};
constexpr Look kLooks[] = {{"#9a9a9a", "", 1},           {"#0072b2", "", 2.5},
                           {"#d55e00", "8 3", 2.5},      {"#009e73", "2 3", 2.5},
                           {"#cc79a7", "10 3 2 3", 2.5}, {"#e69f00", "4 4", 2.5}};

const Look& LookOf(const Series& series) { return kLooks[std::clamp(series.rank, 0, 5)]; }

std::string Number(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.2f", value);
  std::string text = digits;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : Printable(text)) {
    out += c == '&'   ? "&amp;"
           : c == '<' ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  }
  return out;
}

std::string Text(double x, double y, const std::string& text, const std::string& attributes = "") {
  return "<text x=\"" + Number(x) + "\" y=\"" + Number(y) + "\"" + attributes + ">" +
         Escaped(text) + "</text>\n";
}

std::string Rule(double x0, double y0, double x1, double y1, const char* colour) {
  return "<line x1=\"" + Number(x0) + "\" y1=\"" + Number(y0) + "\" x2=\"" + Number(x1) +
         "\" y2=\"" + Number(y1) + "\" stroke=\"" + colour + "\"/>\n";
}

// The rectangle that is drawn in.
struct PlotArea {
  double left = kLeft, top = kTop, right = kWidth - kRight, bottom = kHeight - kBottom;
  double X(double share) const { return left + share * (right - left); }
  double Y(double share) const { return bottom - share * (bottom - top); }
};

std::string Strokes(const Look& look) {
  std::string text = " fill=\"none\" stroke=\"" + std::string(look.colour) + "\" stroke-width=\"" +
                     Number(look.width) + "\" stroke-linejoin=\"round\"";
  if (*look.dashes != '\0') text += " stroke-dasharray=\"" + std::string(look.dashes) + "\"";
  return text;
}

std::string DrawSeries(const Series& series, const Axis& x, const Axis& y, const PlotArea& plot) {
  const Look& look = LookOf(series);
  std::string out;
  if (series.mark == Mark::kPoints) {
    for (const auto& [px, py] : series.points) {
      if (y.ShareOf(py) < -0.001 || y.ShareOf(py) > 1.001) continue;
      out += "<circle cx=\"" + Number(plot.X(x.ShareOf(px))) + "\" cy=\"" +
             Number(plot.Y(y.ShareOf(py))) + "\" r=\"" + (series.rank > 0 ? "6" : "3.5") +
             "\" fill=\"" + look.colour + "\" fill-opacity=\"0.75\" stroke=\"#ffffff\"/>\n";
    }
    return out;
  }
  std::string path;
  double before = 0;
  for (size_t i = 0; i < series.points.size(); ++i) {
    const double px = plot.X(x.ShareOf(series.points[i].first));
    const double py = plot.Y(std::clamp(y.ShareOf(series.points[i].second), -5.0, 6.0));
    if (i > 0 && series.mark == Mark::kSteps) path += "L" + Number(px) + " " + Number(before);
    path += (i == 0 ? "M" : "L") + Number(px) + " " + Number(py);
    before = py;
  }
  if (series.points.size() == 1) {
    return "<circle cx=\"" + Number(plot.X(x.ShareOf(series.points[0].first))) + "\" cy=\"" +
           Number(before) + "\" r=\"2.5\" fill=\"" + look.colour + "\"/>\n";
  }
  Look line = look;
  if (series.is_bridge) line = Look{look.colour, "2 4", 0.8};
  return "<path d=\"" + path + "\"" + Strokes(line) +
         (series.rank == 0 ? " stroke-opacity=\"0.55\"" : "") + "/>\n";
}

std::string DrawAll(const Chart& chart, const Axis& x, const Axis& y, const PlotArea& plot) {
  std::string out = "<clipPath id=\"plot\"><rect x=\"" + Number(plot.left - 8) + "\" y=\"" +
                    Number(plot.top - 8) + "\" width=\"" + Number(plot.right - plot.left + 16) +
                    "\" height=\"" + Number(plot.bottom - plot.top + 16) +
                    "\"/></clipPath>\n<g clip-path=\"url(#plot)\">\n";
  for (int rank : {0, 5, 4, 3, 2, 1}) {
    for (const Series& series : chart.series) {
      if (series.rank == rank) out += DrawSeries(series, x, y, plot);
    }
  }
  return out + "</g>\n";
}

std::string Legend(const Chart& chart, double y) {
  std::string out;
  std::set<int> told;
  double x = kLeft;
  for (int rank : {1, 2, 3, 4, 5, 0}) {
    for (const Series& series : chart.series) {
      if (series.rank != rank || series.name.empty() || !told.insert(rank).second) continue;
      const Look& look = LookOf(series);
      if (series.mark == Mark::kPoints) {
        out += "<circle cx=\"" + Number(x + 14) + "\" cy=\"" + Number(y - 4) +
               "\" r=\"4.5\" fill=\"" + look.colour + "\"/>\n";
      } else {
        out += "<path d=\"M" + Number(x) + " " + Number(y - 4) + "h28\"" + Strokes(look) + "/>\n";
      }
      out += Text(x + 34, y, series.name);
      x += 34 + 7.5 * static_cast<double>(DisplayWidth(series.name)) + 22;
    }
  }
  return out;
}

std::string LabelOf(const Axis& axis) {
  return axis.label + (axis.scale == Scale::kLog ? " (log)" : "");
}

std::string DrawAxes(const Chart& chart, const PlotArea& plot) {
  constexpr const char* kGrid = "#e4e4e4";
  constexpr const char* kInk = "#444444";
  std::string out;
  for (const Tick& tick : TicksOf(chart.y, 7)) {
    const double y = plot.Y(chart.y.ShareOf(tick.value));
    out += Rule(plot.left, y, plot.right, y, kGrid);
    out += Text(plot.left - 8, y + 4, CutToWidth(tick.text, 11), " text-anchor=\"end\"");
  }
  for (const Tick& tick : TicksOf(chart.x, chart.x.words.empty() ? 8 : 12)) {
    const double x = plot.X(chart.x.ShareOf(tick.value));
    out += Rule(x, plot.top, x, plot.bottom, kGrid);
    out += Text(x, plot.bottom + kLine, CutToWidth(tick.text, 14), " text-anchor=\"middle\"");
  }
  out += Rule(plot.left, plot.bottom, plot.right, plot.bottom, kInk);
  out += Rule(plot.left, plot.top, plot.left, plot.bottom, kInk);
  out += Text((plot.left + plot.right) / 2, plot.bottom + 2.2 * kLine, LabelOf(chart.x),
              " text-anchor=\"middle\"");
  const double middle = (plot.top + plot.bottom) / 2;
  out += Text(18, middle, LabelOf(chart.y),
              " text-anchor=\"middle\" transform=\"rotate(-90 18 " + Number(middle) + ")\"");
  out += DrawAll(chart, chart.x, chart.y, plot);
  return out + Legend(chart, plot.bottom + 3.6 * kLine);
}

std::string DrawColumns(const Chart& chart, PlotArea plot) {
  constexpr double kHalfName = 56;  // Those of the first and the last column.
  plot.top += 2 * kLine;
  plot.right -= kHalfName - kRight;
  const double last = std::max<double>(1, static_cast<double>(chart.columns.size()) - 1);
  const Axis x{"", Scale::kLinear, 0, last};
  const Axis y{"", Scale::kLinear, 0, 1};
  std::string out = DrawAll(chart, x, y, plot);
  for (size_t i = 0; i < chart.columns.size(); ++i) {
    const Axis& column = chart.columns[i];
    const double at = plot.X(x.ShareOf(static_cast<double>(i)));
    out += Rule(at, plot.top, at, plot.bottom, "#444444");
    out += Text(at, plot.top - 1.4 * kLine, CutToWidth(LabelOf(column), 16),
                " text-anchor=\"middle\" font-weight=\"bold\"");
    for (const Tick& tick : TicksOf(column, 6)) {
      out += Text(at + 4, plot.Y(column.ShareOf(tick.value)) + 4, CutToWidth(tick.text, 12),
                  " stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"");
    }
  }
  return out + Legend(chart, plot.bottom + 2 * kLine);
}

std::string DrawBars(const Chart& chart, const PlotArea& plot, double height) {
  constexpr double kNames = 150;
  constexpr double kNumbers = 150;
  const double left = kNames + 16;
  const double scale = plot.right - kNumbers - left;
  std::string out;
  const double step = height / static_cast<double>(chart.bars.size());
  for (size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double y = plot.top + (static_cast<double>(i) + 0.5) * step;
    out += Text(left - 8, y + 4, CutToWidth(bar.name, 20), " text-anchor=\"end\"");
    out += "<rect x=\"" + Number(left) + "\" y=\"" + Number(y - 8) + "\" width=\"" +
           Number(std::max(0.5, bar.value * scale)) + "\" height=\"16\" fill=\"" +
           (bar.is_clear ? "#0072b2" : "#c9c9c9") + "\"/>\n";
    out += Rule(left + bar.low * scale, y, left + bar.high * scale, y, "#222222");
    for (const double end : {bar.low, bar.high}) {
      out += Rule(left + end * scale, y - 4, left + end * scale, y + 4, "#222222");
    }
    const auto percent = [](double share) { return std::to_string(std::lround(share * 100)); };
    out += Text(left + std::max(bar.value, bar.high) * scale + 8, y + 4,
                percent(bar.value) + " % (" + percent(bar.low) + " to " + percent(bar.high) + ")");
  }
  return out;
}

}  // namespace

std::string RenderSvg(const Chart& chart) {
  constexpr double kBarStep = 30;
  const double bars = kBarStep * static_cast<double>(chart.bars.size());
  const double notes = kLine * static_cast<double>(chart.notes.size());
  const double height = (chart.bars.empty() ? kHeight : kTop + bars + 20) + notes;
  const PlotArea plot;
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + Number(kWidth) +
                    "\" height=\"" + Number(height) + "\" viewBox=\"0 0 " + Number(kWidth) + " " +
                    Number(height) +
                    "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" "
                    "fill=\"#222222\" role=\"img\">\n<title>" +
                    Escaped(chart.title) + "</title>\n<rect width=\"100%\" height=\"100%\" " +
                    "fill=\"#ffffff\"/>\n";
  out += Text(kLeft, 28, CutToWidth(chart.title, 90), " font-size=\"16\" font-weight=\"bold\"");
  out += !chart.bars.empty()      ? DrawBars(chart, plot, bars)
         : !chart.columns.empty() ? DrawColumns(chart, plot)
                                  : DrawAxes(chart, plot);
  for (size_t i = 0; i < chart.notes.size(); ++i) {
    out += Text(kLeft, height - notes + kLine * static_cast<double>(i) + 4,
                CutToWidth(chart.notes[i], 110), " font-size=\"12\" fill=\"#555555\"");
  }
  return out + "</svg>\n";
}

}  // namespace tune
