// Rows for a person (an aligned table) or a program (CSV, JSON), from the same cells. A cell is a
// Value: null, boolean, number, text, or a list or map, which CSV and tables show as JSON.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/value.h"

namespace tune {

enum class OutputFormat { kTable, kCsv, kJson };

// "table", "csv" or "json".
Result<OutputFormat> ParseOutputFormat(std::string_view name);

// - table: columns aligned, numbers to the right with six digits, control characters made visible;
// where `width` is not 0
//   (a terminal's) the widest columns are cut to fit. Held until End.
// - csv: RFC 4180, a header line, "\r\n"; null is an empty field; numbers read back to the same
// bits.
// - json: a list of objects, a line each; numbers typed, those that are not finite are null.
class RowPrinter {
 public:
  RowPrinter(OutputFormat format, size_t width, std::ostream& out)
      : format_(format), width_(width), out_(out) {}

  void Begin(std::vector<std::string> columns);
  void Row(const std::vector<Value>& cells);  // As many as there are columns.
  void End();

 private:
  void PrintTable();

  OutputFormat format_;
  size_t width_;
  std::ostream& out_;
  std::vector<std::string> columns_;
  size_t row_count_ = 0;
  std::vector<std::vector<std::string>> lines_;  // Table: texts of the cells.
  std::vector<bool> is_numeric_;                 // Table: by column.
};

// Columns on a terminal: wide (East Asian) letters count two, combining ones none.
size_t DisplayWidth(std::string_view text);
// The longest beginning that fits, with "…" at its end if something was cut.
std::string CutToWidth(std::string_view text, size_t width);
// Valid UTF-8, and control characters (also escape sequences) made visible: nothing a trial printed
// moves the cursor.
std::string Printable(std::string_view text);
// Six significant digits: "0.123457", "1e-05", "3".
std::string ShortNumber(double number);
// "512 bytes", "3.2 kB", "1.7 GB".
std::string FormatBytes(int64_t bytes);
// One value for a person: ShortNumber, the text itself, or JSON.
std::string ShortText(const Value& value);

}  // namespace tune
