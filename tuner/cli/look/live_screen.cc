#include "tuner/cli/look/live_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "core/posix/environment.h"
#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

constexpr Duration kShowEvery = Milliseconds(200);
constexpr size_t kSaidMax = 100;

}  // namespace

TerminalSize SizeOfTerminal(int fd) {
  TerminalSize size;
  winsize window{};
  if (ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0) {
    size = {window.ws_col, window.ws_row};
  }
  return size;
}

LiveScreen::LiveScreen()
    : is_terminal_(isatty(STDERR_FILENO) == 1 && CanMoveCursor(EnvironmentText("TERM"))),
      palette_(PaletteFor(EnvironmentText("TERM"), EnvironmentText("NO_COLOR"))) {}

bool LiveScreen::IsDue(Instant now) const { return !shown_at_ || now >= *shown_at_ + kShowEvery; }

void LiveScreen::Show(const SweepSnapshot& snapshot, const std::vector<EndedTrial>& ended,
                      Instant now) {
  shown_at_ = now;
  for (const std::string& line : failures_.Lines(ended)) Say(line);
  if (!is_terminal_) {
    for (const std::string& line : log_.Update(snapshot, ended, now))
      std::cerr << PrintableLines(line) << "\n";
    return;
  }
  history_.See(snapshot, ended);
  FollowSize();
  const std::vector<std::string> lines =
      RenderTable(snapshot, history_, size_->width, size_->height, palette_);
  std::cerr << painter_.Draw(lines) << std::flush;
}

// A terminal whose window changed has moved and folded the lines in its own way: nobody knows where
// they lie. So all is written anew, with as many of the lines that stay as there is room for.
void LiveScreen::FollowSize() {
  const TerminalSize size = SizeOfTerminal(STDERR_FILENO);
  if (size_ && *size_ != size) {
    std::cerr << painter_.Restart();
    const size_t room = std::min(said_.size(), size.height / 3);
    for (size_t i = said_.size() - room; i < said_.size(); ++i) std::cerr << said_[i] << "\n";
  }
  size_ = size;
}

// A trial and a worker say something of nearly every line: no byte of theirs reaches the terminal.
void LiveScreen::Say(const std::string& text) {
  const std::string line = PrintableLines(text);
  if (is_terminal_) {
    std::cerr << painter_.Erase();
    said_.push_back(line);
    if (said_.size() > kSaidMax) said_.pop_front();
  }
  std::cerr << line << "\n";
}

}  // namespace tune
