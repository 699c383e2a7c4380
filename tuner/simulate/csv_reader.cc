#include "tuner/simulate/csv_reader.h"

#include "core/input_error.h"
#include "core/limits.h"

namespace tune {

int CsvReader::Take() {
  const int c = in_.sbumpc();
  if (c == '\n') {
    ++place_.line;
    place_.column = 1;
  } else {
    ++place_.column;
  }
  return c;
}

// Also of the last line. "\r" counts where "\n" follows it.
bool CsvReader::IsAtLineEnd() {
  if (Peek() != '\r') return Peek() == '\n' || Peek() == kEnd;
  const int next = in_.snextc();
  in_.sungetc();
  return next == '\n' || next == kEnd;
}

void CsvReader::SkipEmptyLines() {
  if (!is_begun_) {
    is_begun_ = true;
    constexpr char kMark[] = "\xEF\xBB\xBF";
    for (int i = 0; i < 3 && Peek() == static_cast<unsigned char>(kMark[i]); ++i) in_.sbumpc();
  }
  while (Peek() != kEnd && IsAtLineEnd()) Take();
}

Result<bool> CsvReader::Next(std::vector<CsvCell>& cells) {
  SkipEmptyLines();
  if (Peek() == kEnd) return false;
  size_t count = 0;
  for (;;) {
    if (count == limits::kCsvCellsMax) {
      return InvalidAt(place_,
                       "more than " + std::to_string(limits::kCsvCellsMax) + " cells in a line");
    }
    if (count == cells.size()) cells.emplace_back();
    TUNE_RETURN_IF_ERROR(ReadCell(cells[count++]));
    if (Peek() != ',') break;
    Take();
  }
  cells.resize(count);
  if (Peek() == '\r') Take();
  if (Peek() == '\n') Take();
  return true;
}

Status CsvReader::Append(int c, CsvCell& cell) const {
  if (c == '\0') return InvalidAt(place_, "a NUL byte; expected text");
  if (cell.text.size() == limits::kCsvCellBytesMax) {
    return InvalidAt(cell.place,
                     "a cell of more than " + std::to_string(limits::kCsvCellBytesMax) + " bytes");
  }
  cell.text.push_back(static_cast<char>(c));
  return OkStatus();
}

Status CsvReader::ReadCell(CsvCell& cell) {
  cell.text.clear();
  cell.place = place_;
  if (Peek() == '"') return ReadQuoted(cell);
  while (Peek() != ',' && !IsAtLineEnd()) {
    if (Peek() == '"') {
      return InvalidAt(place_, "a quote within a cell that does not begin with one");
    }
    TUNE_RETURN_IF_ERROR(Append(Peek(), cell));
    Take();
  }
  return OkStatus();
}

Status CsvReader::ReadQuoted(CsvCell& cell) {
  Take();
  for (;;) {
    if (Peek() == kEnd) return InvalidAt(cell.place, "a quoted cell that does not end");
    if (Peek() == '"') {
      Take();
      if (Peek() != '"') break;
    }
    TUNE_RETURN_IF_ERROR(Append(Peek(), cell));
    Take();
  }
  if (Peek() == ',' || IsAtLineEnd()) return OkStatus();
  return InvalidAt(place_, "more after a quoted cell; expected a comma or the end of the line");
}

}  // namespace tune
