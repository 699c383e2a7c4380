#include "tuner/cli/text_table.h"

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

constexpr size_t kColumnWidthMin = 8;  // A column is not cut below it.

// The code point that begins at `at`, in valid UTF-8; moves past it.
uint32_t NextCodePoint(std::string_view text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  uint32_t code = first & (0x3f >> more);
  for (int i = 0; i < more && at < text.size(); ++i)
    code = (code << 6) | (static_cast<unsigned char>(text[at++]) & 0x3f);
  return code;
}

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

std::string Printable(std::string_view text) {
  const std::string valid = ToUtf8(text);
  std::string out;
  out.reserve(valid.size());
  for (size_t at = 0; at < valid.size();) {
    const size_t begin = at;
    const uint32_t code = NextCodePoint(valid, at);
    if (code == '\n') {
      out += "\\n";
    } else if (code == '\t') {
      out += "\\t";
    } else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", code);
      out += escape;
    } else {
      out.append(valid, begin, at - begin);
    }
  }
  return out;
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

void RowPrinter::Begin(std::vector<std::string> columns) {
  columns_ = std::move(columns);
  row_count_ = 0;
  lines_.clear();
  is_numeric_.assign(columns_.size(), true);
  if (format_ == OutputFormat::kJson) out_ << "[";
  if (format_ != OutputFormat::kCsv) return;
  std::string line;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) line.push_back(',');
    AppendCsvField(Value(columns_[i]), line);
  }
  out_ << line << "\r\n";
}

void RowPrinter::Row(const std::vector<Value>& cells) {
  TUNE_CHECK(cells.size() == columns_.size());
  ++row_count_;
  if (format_ == OutputFormat::kTable) {
    std::vector<std::string>& line = lines_.emplace_back();
    for (size_t i = 0; i < cells.size(); ++i) {
      line.push_back(ShortText(cells[i]));
      if (!cells[i].is_number() && !cells[i].is_null()) is_numeric_[i] = false;
    }
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
  out_ << line << (format_ == OutputFormat::kCsv ? "\r\n" : "}");
}

void RowPrinter::End() {
  if (format_ == OutputFormat::kTable) PrintTable();
  if (format_ == OutputFormat::kJson) out_ << (row_count_ == 0 ? "]\n" : "\n]\n");
  out_.flush();
}

void RowPrinter::PrintTable() {
  std::vector<std::string> names;
  std::vector<size_t> widths;
  for (const std::string& column : columns_) {
    names.push_back(Printable(column));
    widths.push_back(DisplayWidth(names.back()));
  }
  for (const auto& line : lines_) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(line[i]));
  }
  constexpr size_t kGap = 2;
  const auto total = [&] {
    return std::accumulate(widths.begin(), widths.end(), size_t{0}) +
           kGap * (widths.empty() ? 0 : widths.size() - 1);
  };
  while (width_ > 0 && total() > width_) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kColumnWidthMin) break;
    *widest -= std::min(*widest - kColumnWidthMin, total() - width_);
  }
  const auto print = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      line += Padded(CutToWidth(cells[i], widths[i]), widths[i], is_numeric_[i]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out_ << (width_ > 0 ? CutToWidth(line, width_) : line) << "\n";
  };
  print(names);
  for (const auto& line : lines_) print(line);
}

}  // namespace tune
