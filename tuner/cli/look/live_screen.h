// Standard error as the place where a sweep is watched: on a terminal a table that redraws itself,
// otherwise plain lines. A terminal that cannot move its cursor (TERM=dumb) has plain lines, too.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"
#include "tuner/cli/look/live_table.h"
#include "tuner/cli/look/live_view.h"

namespace tune {

struct TerminalSize {
  size_t width = 80;
  size_t height = 24;
  friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};

// Of the terminal at this descriptor, at present: it changes while its window does.
TerminalSize SizeOfTerminal(int fd);

class LiveScreen {
 public:
  LiveScreen();

  // Whether it is time to show something again.
  bool IsDue(Instant now) const;
  // `ended`: those that ended since the last call.
  void Show(const SweepSnapshot& snapshot, const std::vector<EndedTrial>& ended, Instant now);
  // What was before the first Show.
  void Recall(EarlierHistory earlier) { history_.Recall(std::move(earlier)); }
  // A line that stays.
  void Say(const std::string& line);

 private:
  void FollowSize();

  const bool is_terminal_;
  const Palette palette_;
  std::optional<Instant> shown_at_;
  std::optional<TerminalSize> size_;  // When it was drawn to last.
  std::deque<std::string> said_;      // The latest lines that stay; those of a screen.
  FailureLog failures_;
  ProgressLog log_;
  SweepHistory history_;
  TerminalPainter painter_;
};

}  // namespace tune
