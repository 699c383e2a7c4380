// A program's output as the lines that a person reads on a screen. A line stands when it is ended
// by a newline. A bar that a carriage return, backspaces or the cursor's way up lead back to is
// drawn over: what it said before is given as a state, not as a line.
//
//   "3/60 loss 0.9\r4/60 loss 0.8\n"   the state "3/60 loss 0.9", the line "4/60 loss 0.8"
//
// A line that the cursor's way up leads back to and that stood already, because it was ended and no
// bar, stands again each time that it is drawn over, and says so.
//
// Colours and other escape sequences are taken out, and what no screen shows (NUL, zero-width
// characters). The line of a bar is known to stand when
// something stands below it, because bars below may lead back to it (tqdm's nested bars). Of a line
// longer than kLineBytesMax the rest is left out, and the word that the limit cuts.
//
// Thread rule: one thread an object.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

struct OutputLine {
  std::string text;
  bool stands = true;       // Else it was drawn over.
  bool is_redrawn = false;  // It stands in the place of one that stood.

  friend bool operator==(const OutputLine&, const OutputLine&) = default;
};

class OutputLines {
 public:
  static constexpr size_t kLineBytesMax = 1u << 20;

  // The lines and states that ended, in order; the pieces may be cut anywhere.
  std::vector<OutputLine> Add(std::string_view piece);
  // The end of the output: the lines that are left, the last one without its newline.
  std::vector<OutputLine> Finish();
  // Whether something was left out of a line.
  bool has_cut() const { return has_cut_; }

 private:
  static constexpr size_t kRowsMax = 64;  // That may be led back to.
  static constexpr size_t kEscapeBytesMax = 256;

  struct Row {
    std::string text;
    bool is_redrawn = false;  // It was written from its beginning more than once: a bar.
    bool stood = false;       // Another line stood in its place.
  };

  void AddText(std::string_view text);
  void Newline();
  void CarriageReturn();
  void MoveUp(size_t count);
  void Backspaces();
  // Takes the bytes of an escape sequence; true once it is whole.
  bool AddToEscape(char c);
  void PerformEscape();
  void EraseLine();
  // What was written since the cursor was last at the row's beginning becomes the row's text.
  void Draw();
  void CloseRowsAbove(size_t row);
  void Emit(std::string text, bool stands, bool is_redrawn);

  std::deque<Row> rows_ = std::deque<Row>(1);
  size_t cursor_ = 0;  // The row; all rows above and below it are open.
  std::string written_;
  bool is_full_ = false;       // The line is longer than kLineBytesMax.
  bool has_cut_ = false;       // Any line was.
  bool has_returned_ = false;  // The next text is written over the row's.
  size_t rows_to_redraw_ = 0;  // That stood already, from the cursor on.
  size_t backspaces_ = 0;      // Not yet followed by text.
  std::string escape_;         // Begun with ESC, not whole yet.
  std::vector<OutputLine> out_;
};

}  // namespace tune
