// Standard error as the place where a sweep is watched: on a terminal a table that redraws itself,
// otherwise plain lines.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "tuner/cli/live_view.h"

namespace tune {

class LiveScreen {
 public:
  LiveScreen();

  // Whether it is time to show something again.
  bool IsDue(Instant now) const;
  // `ended`: those that ended since the last call.
  void Show(const SweepSnapshot& snapshot, const std::vector<EndedTrial>& ended, Instant now);
  // A line that stays.
  void Say(const std::string& line);

 private:
  const bool is_terminal_;
  std::optional<Instant> shown_at_;
  FailureLog failures_;
  ProgressLog log_;
  TerminalPainter painter_;
};

}  // namespace tune
