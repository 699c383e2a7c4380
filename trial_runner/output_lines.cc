#include "trial_runner/output_lines.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace tune {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\a';

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// What no screen shows.
constexpr std::string_view kInvisible[] = {std::string_view("\0", 1),
                                           "\xe2\x80\x8b",
                                           "\xe2\x80\x8c",
                                           "\xe2\x80\x8d",
                                           "\xe2\x81\xa0",
                                           "\xef\xbb\xbf"};

// Each byte is moved once: a line may be a megabyte of them.
std::string Without(std::string_view mark, std::string text) {
  size_t kept = 0;  // Of the bytes before `from`, moved to the front.
  size_t from = 0;
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, from)) {
    std::memmove(text.data() + kept, text.data() + from, at - from);
    kept += at - from;
    from = at + mark.size();
  }
  if (from > 0) text.erase(kept, from - kept);
  return text;
}

std::string Visible(std::string text) {
  for (const std::string_view mark : kInvisible) text = Without(mark, std::move(text));
  return text;
}

size_t CharacterCount(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), IsContinuation));
}

}  // namespace

std::vector<OutputLine> OutputLines::Add(std::string_view piece) {
  while (!piece.empty()) {
    // A line's end within a sequence ends that too: what comes next is not lost with it.
    if (piece.front() == '\n' || piece.front() == '\r') escape_.clear();
    if (!escape_.empty()) {
      if (AddToEscape(piece.front())) PerformEscape();
      piece.remove_prefix(1);
      continue;
    }
    const size_t end = std::min(piece.find_first_of("\r\n\b\x1b"), piece.size());
    if (end > 0) AddText(piece.substr(0, end));
    if (end == piece.size()) break;
    switch (piece[end]) {
      case '\n':
        Newline();
        break;
      case '\r':
        CarriageReturn();
        break;
      case '\b':
        ++backspaces_;
        break;
      default:
        escape_ = kEscape;
    }
    piece.remove_prefix(end + 1);
  }
  return std::exchange(out_, {});
}

std::vector<OutputLine> OutputLines::Finish() {
  Draw();
  CloseRowsAbove(rows_.size());
  rows_.assign(1, Row());
  cursor_ = 0;
  has_returned_ = false;
  rows_to_redraw_ = 0;
  backspaces_ = 0;
  escape_.clear();
  return std::exchange(out_, {});
}

void OutputLines::AddText(std::string_view text) {
  Backspaces();
  if (is_full_) return;
  is_full_ = text.size() > kLineBytesMax - written_.size();
  has_cut_ = has_cut_ || is_full_;
  written_ += text.substr(0, kLineBytesMax - written_.size());
  // A piece of a word at the cut could be a piece of a number.
  const size_t last = is_full_ ? written_.find_last_of(" \t:=") : std::string::npos;
  if (last != std::string::npos) written_.resize(last + 1);
}

// Back to the row's beginning, as a carriage return, or over some characters.
void OutputLines::Backspaces() {
  const size_t count = std::exchange(backspaces_, 0);
  if (count == 0) return;
  if (count >= CharacterCount(written_)) return CarriageReturn();
  for (size_t i = 0; i < count; ++i) {
    while (IsContinuation(written_.back())) written_.pop_back();
    written_.pop_back();
  }
}

void OutputLines::Draw() {
  is_full_ = false;
  if (written_.empty()) return;
  Row& row = rows_[cursor_];
  if (!row.text.empty()) {
    row.is_redrawn = true;
    if (!IsBlank(row.text)) Emit(std::move(row.text), false, false);
  }
  row.is_redrawn = row.is_redrawn || has_returned_;
  row.text = std::exchange(written_, {});
  row.stood = row.stood || rows_to_redraw_ > 0;
  has_returned_ = false;
}

void OutputLines::CarriageReturn() {
  backspaces_ = 0;
  const bool says_more = !IsBlank(written_);
  Draw();
  has_returned_ = true;
  // Something stands below them that leads back to none of them.
  if (says_more && cursor_ + 1 == rows_.size()) CloseRowsAbove(cursor_);
}

void OutputLines::Newline() {
  backspaces_ = 0;
  Draw();
  has_returned_ = false;
  const bool is_bar = rows_[cursor_].is_redrawn;
  const bool is_blank = IsBlank(rows_[cursor_].text);
  if (++cursor_ == rows_.size()) rows_.emplace_back();
  rows_to_redraw_ -= std::min<size_t>(rows_to_redraw_, 1);
  const bool is_lowest = cursor_ + 1 == rows_.size();
  if (is_lowest && (!is_bar || rows_.size() > kRowsMax)) {
    CloseRowsAbove(cursor_);
  } else if (is_lowest && !is_blank) {
    CloseRowsAbove(cursor_ - 1);
  }
}

void OutputLines::MoveUp(size_t count) {
  Draw();
  rows_to_redraw_ += count - std::min(cursor_, count);
  cursor_ -= std::min(cursor_, count);
}

void OutputLines::EraseLine() {
  Draw();
  std::string& text = rows_[cursor_].text;
  if (text.empty()) return;  // What stood there is a line already.
  if (!IsBlank(text)) Emit(std::move(text), false, false);
  text.clear();
  rows_[cursor_].is_redrawn = true;
}

bool OutputLines::AddToEscape(char c) {
  escape_ += c;
  if (escape_.size() >= kEscapeBytesMax) return true;
  if (escape_.size() == 2) return c != '[' && c != ']' && c != '(' && c != ')';
  if (escape_[1] == '[') return c >= 0x40 && c <= 0x7e;
  // A title or a link: up to a bell, or to ESC and a backslash.
  if (escape_[1] == ']') return c == kBell || (c == '\\' && escape_[escape_.size() - 2] == kEscape);
  return true;
}

void OutputLines::PerformEscape() {
  const std::string escape = std::exchange(escape_, {});
  if (escape.size() < 3 || escape[1] != '[') return;
  size_t count = 0;
  std::from_chars(escape.data() + 2, escape.data() + escape.size() - 1, count);
  switch (escape.back()) {
    case 'A':
      return MoveUp(std::max<size_t>(count, 1));
    case 'B':
      Draw();
      cursor_ = std::min(cursor_ + std::max<size_t>(count, 1), rows_.size() - 1);
      return;
    case 'F':
      MoveUp(std::max<size_t>(count, 1));
      has_returned_ = true;
      return;
    case 'G':
      if (count <= 1) CarriageReturn();
      return;
    case 'K':
      // To the line's end (0): all of it, when the cursor is at the beginning.
      if (count == 2 || (count == 0 && written_.empty() && has_returned_)) EraseLine();
      return;
    default:
      return;
  }
}

void OutputLines::Emit(std::string text, bool stands, bool is_redrawn) {
  out_.push_back({Visible(std::move(text)), stands, is_redrawn});
}

void OutputLines::CloseRowsAbove(size_t row) {
  for (size_t i = 0; i < row; ++i) {
    std::string& text = rows_.front().text;
    if (!text.empty()) Emit(std::move(text), true, rows_.front().stood);
    rows_.pop_front();
  }
  cursor_ -= std::min(cursor_, row);
}

}  // namespace tune
