#include "tuner/cli/words/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>

#include "core/check.h"
#include "core/csv.h"
#include "core/json.h"
#include "core/utf8.h"

namespace tune {
namespace {

constexpr size_t kGap = 2;  // Between columns.

// The usual ranges of wcwidth (Unicode 15, East Asian Width W and F; combining marks), coarsely.
size_t WidthOf(uint32_t code) {
  struct Range {
    uint32_t first, last;
  };
  static constexpr Range kCombining[] = {
      {0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
  static constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                                    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                                    {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
                                    {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  const auto holds = [code](const Range& range) {
    return code >= range.first && code <= range.last;
  };
  if (std::any_of(std::begin(kCombining), std::end(kCombining), holds)) return 0;
  return std::any_of(std::begin(kWide), std::end(kWide), holds) ? 2 : 1;
}

void AppendJsonCell(const Value& value, std::string& out) {
  if (value.is_double() && !std::isfinite(value.AsDouble())) {
    out += "null";
  } else if (value.is_number()) {
    out += FullNumber(value);
  } else if (value.is_string()) {
    AppendJsonString(ToUtf8(value.AsString()), out);
  } else {
    out += ToUtf8(ToJson(value));
  }
}

std::string Padded(const std::string& text, size_t width, bool to_the_right) {
  const std::string space(width - std::min(width, DisplayWidth(text)), ' ');
  return to_the_right ? space + text : text + space;
}

}  // namespace

Result<OutputFormat> ParseOutputFormat(std::string_view name) {
  if (name == "table") return OutputFormat::kTable;
  if (name == "csv") return OutputFormat::kCsv;
  if (name == "json") return OutputFormat::kJson;
  return InvalidArgument("'" + std::string(name) + "' is no format; there are table, csv and json");
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) width += WidthOf(NextCodePoint(text, at));
  return width;
}

std::string CutToWidth(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return std::string();
  size_t used = 0;
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    used += WidthOf(NextCodePoint(text, at));
    if (used > width - 1) {
      end = begin;
      break;
    }
  }
  return std::string(text.substr(0, end)) + "…";
}

std::vector<std::string> WrapToWidth(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  for (;;) {
    const size_t newline = text.find('\n');
    const std::string_view rest = text.substr(0, newline);
    size_t used = 0;
    size_t at = 0;
    size_t space = 0;  // The last one at which the line can be broken.
    while (at < rest.size()) {
      size_t next = at;
      const size_t wide = WidthOf(NextCodePoint(rest, next));
      if (rest[at] == ' ') space = at;
      if (used + wide > width && at > 0) break;
      used += wide;
      at = next;
    }
    const bool is_whole = at >= rest.size();
    const size_t end = is_whole || space == 0 ? at : space;
    lines.emplace_back(rest.substr(0, end));
    if (is_whole && newline == std::string_view::npos) return lines;
    text.remove_prefix(is_whole ? newline + 1 : end);
    if (!is_whole && text.starts_with(' ')) text.remove_prefix(1);
  }
}

std::string ShortNumber(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", number);
  return digits;
}

std::string FormatBytes(int64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  double number = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  while (number >= 999.95 && unit + 1 < std::size(kUnits)) {
    number /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", number, kUnits[unit]);
  return text;
}

std::string ShortText(const Value& value) {
  if (value.is_null()) return std::string();
  if (value.is_string()) return Printable(value.AsString());
  if (value.is_double()) return ShortNumber(value.AsDouble());
  return Printable(ToJson(value));
}

// ---- TextTable

TextTable::TextTable(std::vector<TableColumn> columns)
    : columns_(std::move(columns)), is_numeric_(columns_.size(), true) {
  for (TableColumn& column : columns_) {
    column.name = Printable(column.name);
    whole_widths_.push_back(DisplayWidth(column.name));
  }
}

void TextTable::Row(const std::vector<Value>& cells) {
  TUNE_CHECK(cells.size() == columns_.size());
  std::vector<std::string>& line = lines_.emplace_back();
  for (size_t i = 0; i < cells.size(); ++i) {
    line.push_back(ShortText(cells[i]));
    whole_widths_[i] = std::max(whole_widths_[i], DisplayWidth(line.back()));
    if (!cells[i].is_number() && !cells[i].is_null()) is_numeric_[i] = false;
  }
}

size_t TextTable::MinWidth() const {
  size_t total = kGap * (columns_.empty() ? 0 : columns_.size() - 1);
  for (size_t i = 0; i < columns_.size(); ++i) {
    total += columns_[i].fit == Fit::kWhole ? whole_widths_[i]
                                            : std::min(whole_widths_[i], columns_[i].width_min);
  }
  return total;
}

// The widest column that can give way is narrowed until all fit, or none can.
std::vector<size_t> TextTable::Widths(size_t width) const {
  std::vector<size_t> widths = whole_widths_;
  if (width == 0 || columns_.empty()) return widths;
  for (const Fit fit : {Fit::kCut, Fit::kWrap}) {
    for (;;) {
      const size_t total =
          std::accumulate(widths.begin(), widths.end(), kGap * (columns_.size() - 1));
      std::optional<size_t> widest;
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i].fit != fit || widths[i] <= columns_[i].width_min) continue;
        if (!widest || widths[i] > widths[*widest]) widest = i;
      }
      if (total <= width || !widest) break;
      widths[*widest] -= std::min(widths[*widest] - columns_[*widest].width_min, total - width);
    }
  }
  return widths;
}

void TextTable::PrintLine(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                          size_t width, std::ostream& out) const {
  std::vector<std::vector<std::string>> parts;  // By column, its lines.
  size_t line_count = 1;
  bool may_cut = width > 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Fit fit = columns_[i].fit;
    parts.push_back(fit == Fit::kWrap ? WrapToWidth(cells[i], widths[i])
                                      : std::vector{CutToWidth(cells[i], widths[i])});
    line_count = std::max(line_count, parts.back().size());
    may_cut = may_cut && fit == Fit::kCut;
  }
  for (size_t n = 0; n < line_count; ++n) {
    std::string line;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      line += Padded(n < parts[i].size() ? parts[i][n] : "", widths[i], is_numeric_[i]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out << (may_cut ? CutToWidth(line, width) : line) << "\n";
  }
}

void TextTable::Print(size_t width, std::ostream& out) const {
  const std::vector<size_t> widths = Widths(width);
  std::vector<std::string> names;
  for (const TableColumn& column : columns_) names.push_back(column.name);
  PrintLine(names, widths, width, out);
  for (const std::vector<std::string>& line : lines_) PrintLine(line, widths, width, out);
}

// ---- RowPrinter

void RowPrinter::Begin(std::vector<std::string> columns) {
  columns_ = std::move(columns);
  row_count_ = 0;
  if (format_ == OutputFormat::kJson) out_ << "[";
  if (format_ == OutputFormat::kTable) {
    std::vector<TableColumn> all;
    for (const std::string& name : columns_) all.push_back({name});
    table_.emplace(std::move(all));
  }
  if (format_ != OutputFormat::kCsv) return;
  std::string line;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) line.push_back(',');
    AppendCsvField(Value(columns_[i]), line);
  }
  out_ << line << "\n";
}

void RowPrinter::Row(const std::vector<Value>& cells) {
  TUNE_CHECK(cells.size() == columns_.size());
  ++row_count_;
  if (table_) {
    table_->Row(cells);
    return;
  }
  std::string line = format_ == OutputFormat::kCsv ? "" : row_count_ == 1 ? "\n{" : ",\n{";
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line.push_back(',');
    if (format_ == OutputFormat::kCsv) {
      AppendCsvField(cells[i], line);
      continue;
    }
    AppendJsonString(ToUtf8(columns_[i]), line);
    line.push_back(':');
    AppendJsonCell(cells[i], line);
  }
  out_ << line << (format_ == OutputFormat::kCsv ? "\n" : "}");
}

void RowPrinter::End() {
  if (table_) table_->Print(width_, out_);
  if (format_ == OutputFormat::kJson) out_ << (row_count_ == 0 ? "]\n" : "\n]\n");
  out_.flush();
}

}  // namespace tune
