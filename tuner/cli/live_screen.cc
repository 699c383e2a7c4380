#include "tuner/cli/live_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <iostream>

namespace tune {
namespace {

constexpr Duration kShowEvery = Milliseconds(200);

struct TerminalSize {
  size_t width = 80;
  size_t height = 24;
};

TerminalSize SizeOfTerminal() {
  TerminalSize size;
  winsize window{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0) {
    size = {window.ws_col, window.ws_row};
  }
  return size;
}

}  // namespace

LiveScreen::LiveScreen() : is_terminal_(isatty(STDERR_FILENO) == 1) {}

bool LiveScreen::IsDue(Instant now) const { return !shown_at_ || now >= *shown_at_ + kShowEvery; }

void LiveScreen::Show(const SweepSnapshot& snapshot, const std::vector<EndedTrial>& ended,
                      Instant now) {
  shown_at_ = now;
  for (const std::string& line : failures_.Lines(ended)) Say(line);
  if (!is_terminal_) {
    for (const std::string& line : log_.Update(snapshot, ended, now)) std::cerr << line << "\n";
    return;
  }
  const TerminalSize size = SizeOfTerminal();
  std::cerr << painter_.Draw(RenderTable(snapshot, size.width, size.height)) << std::flush;
}

void LiveScreen::Say(const std::string& line) {
  if (is_terminal_) std::cerr << painter_.Erase();
  std::cerr << line << "\n";
}

}  // namespace tune
