// A running sweep as a table for a terminal that redraws it. Pure: nothing here reads a clock or
// writes to a stream.
//
// Thread rule: values; a SweepHistory or a TerminalPainter belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/words/styled_text.h"

namespace tune {

// What is known of a sweep from before the first look.
struct EarlierHistory {
  std::vector<std::pair<Duration, double>> best;                      // As SweepHistory::best.
  std::map<int64_t, std::vector<std::pair<int64_t, double>>> curves;  // By trial: iteration, value.
};

// What a sweep did while it was looked at, learned from one snapshot after the other: what happened
// between two of them is not in it.
class SweepHistory {
 public:
  struct Event {
    Duration at;  // Of the snapshot's `elapsed`.
    std::string text;
    Style style = Style::kPlain;
  };

  // Before the first See.
  void Recall(EarlierHistory earlier);
  // `ended`: those that ended since the last call.
  void See(const SweepSnapshot& snapshot, const std::vector<EndedTrial>& ended);

  // The best value and since when it is, each better than the one before.
  const std::vector<std::pair<Duration, double>>& best() const { return best_; }
  // Values of a trial in order of its iterations; of very many every second, fourth, ...
  std::vector<double> Curve(int64_t trial) const;
  // What happened to trials, the latest first.
  const std::deque<Event>& events() const { return events_; }

 private:
  static constexpr size_t kPointsMax = 512;
  static constexpr size_t kEventsMax = 32;

  static void Shorten(std::vector<std::pair<int64_t, double>>& curve);
  void SeeRunning(const SweepSnapshot& snapshot);
  void SeeBest(const SweepSnapshot& snapshot);
  void Tell(Duration at, std::string text, Style style);

  std::vector<std::pair<Duration, double>> best_;
  int64_t best_trial_ = -1;
  std::map<int64_t, std::vector<std::pair<int64_t, double>>> curves_;  // By trial.
  std::map<int64_t, int64_t> running_;                                 // Iterations by trial.
  std::set<int64_t> begun_;                                            // Trials that ever ran.
  std::deque<Event> events_;
  bool has_looked_ = false;
};

// Lines for a terminal: none wider than `width`, fewer than `height`.
std::vector<std::string> RenderTable(const SweepSnapshot& snapshot, const SweepHistory& history,
                                     size_t width, size_t height, Palette palette);

// Keeps a block of lines at the bottom of a terminal: each Draw goes over the one before without
// clearing it first.
class TerminalPainter {
 public:
  // The bytes to write.
  std::string Draw(const std::vector<std::string>& lines);
  // Takes the block away, so that a line that stays can be written; the next Draw stands below it.
  std::string Erase();
  // The terminal's size has changed, and with it where the lines lie: clears the whole screen. The
  // next Draw stands at its top, below what the caller writes there before.
  std::string Restart();

 private:
  size_t drawn_count_ = 0;
};

}  // namespace tune
