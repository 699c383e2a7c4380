// Rows for a person (an aligned table) or a program (CSV, JSON), from the same cells. A cell is a
// Value: null, boolean, number, text, or a list or map, which CSV and tables show as JSON.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/utf8.h"
#include "core/value.h"

namespace tune {

enum class OutputFormat { kTable, kCsv, kJson };

// "table", "csv" or "json".
Result<OutputFormat> ParseOutputFormat(std::string_view name);

// How a column of a table gets by with less than its width.
enum class Fit {
  kCut,    // Its cells are cut, "…" at their ends. Such columns give way first, the widest first.
  kWrap,   // Its cells go on in the lines below.
  kWhole,  // It does not: a line that is too long goes on past the terminal's edge.
};

struct TableColumn {
  std::string name;
  Fit fit = Fit::kCut;
  size_t width_min = 8;  // Not narrower than this, unless all its cells are.
};

// Aligned columns for a person: numbers to the right with six digits, control characters made
// visible.
class TextTable {
 public:
  explicit TextTable(std::vector<TableColumn> columns);

  void Row(const std::vector<Value>& cells);  // As many as there are columns.
  // The least width in which no cell is cut below its column's minimum.
  size_t MinWidth() const;
  // `width`: the terminal's; 0: as wide as the cells are.
  void Print(size_t width, std::ostream& out) const;

 private:
  std::vector<size_t> Widths(size_t width) const;
  void PrintLine(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                 size_t width, std::ostream& out) const;

  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> lines_;
  std::vector<bool> is_numeric_;      // By column.
  std::vector<size_t> whole_widths_;  // By column.
};

// - table: a TextTable whose columns are cut to fit `width`. Held until End.
// - csv: as in RFC 4180, but lines end with "\n", which shells expect; a header line; null is an
// empty field; numbers read back to the same bits.
// - json: a list of objects, a line each; numbers typed, those that are not finite are null.
class RowPrinter {
 public:
  RowPrinter(OutputFormat format, size_t width, std::ostream& out)
      : format_(format), width_(width), out_(out) {}

  void Begin(std::vector<std::string> columns);
  void Row(const std::vector<Value>& cells);  // As many as there are columns.
  void End();

 private:
  OutputFormat format_;
  size_t width_;
  std::ostream& out_;
  std::vector<std::string> columns_;
  size_t row_count_ = 0;
  std::optional<TextTable> table_;  // Of the format table.
};

// Columns on a terminal: wide (East Asian) letters count two, combining ones none.
size_t DisplayWidth(std::string_view text);
// The longest beginning that fits, with "…" at its end if something was cut.
std::string CutToWidth(std::string_view text, size_t width);
// Lines of at most `width`, broken at spaces, and within words that are longer. "\n" begins a line.
std::vector<std::string> WrapToWidth(std::string_view text, size_t width);
// Six significant digits: "0.123457", "1e-05", "3".
std::string ShortNumber(double number);
// "512 bytes", "3.2 kB", "1.7 GB".
std::string FormatBytes(int64_t bytes);
// One value for a person: ShortNumber, the text itself, or JSON.
std::string ShortText(const Value& value);

}  // namespace tune
