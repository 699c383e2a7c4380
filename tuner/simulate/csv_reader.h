// A CSV text, record by record (RFC 4180): cells between commas, quoted ones with "" for a quote,
// lines that end with CRLF or LF; a byte order mark at the beginning and empty lines are passed
// over. Never more than one record is held.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/value.h"

namespace tune {

struct CsvCell {
  std::string text;
  Place place;  // Where it begins, the column in bytes.
};

class CsvReader {
 public:
  // `in` outlives it.
  explicit CsvReader(std::istream& in) : in_(*in.rdbuf()) {}

  // The next record; false at the end. Errors carry "line:column: ": a quoted cell that does not
  // end or is followed by more, a quote in a cell that is not quoted, a NUL, a cell or a record
  // beyond its limit.
  Result<bool> Next(std::vector<CsvCell>& cells);

 private:
  static constexpr int kEnd = std::char_traits<char>::eof();

  int Peek() { return in_.sgetc(); }
  int Take();
  bool IsAtLineEnd();
  void SkipEmptyLines();
  Status ReadCell(CsvCell& cell);
  Status ReadQuoted(CsvCell& cell);
  Status Append(int c, CsvCell& cell) const;

  std::streambuf& in_;
  Place place_{1, 1};  // Of the next byte.
  bool is_begun_ = false;
};

}  // namespace tune
