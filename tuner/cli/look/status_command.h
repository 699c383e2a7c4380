// `tune status [NAME] [--watch]`: one sweep at a glance, from the database; who has what of each
// device, and how much of its memory is used, from its tuner if that lives and answers.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>

#include "core/clock.h"
#include "core/time.h"
#include "tuner/cli/look/live_screen.h"
#include "tuner/cli/words/styled_text.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct StatusOptions {
  std::string db_path;
  std::string name;  // "": the latest sweep.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;    // The terminal's; 0: none.
  bool watch = false;  // Until the sweep has ended, or `wait` says so.
  // Of a terminal that --watch can redraw; without it, it prints again below.
  std::function<TerminalSize()> terminal_size = {};
  Palette palette = Palette::kPlain;
};

// Waits; false when it was told to stop (Ctrl-C).
using WaitFunction = std::function<bool(Duration)>;

// Returns the exit status: 0, or 2 with one line on `err`.
int StatusCommand(const StatusOptions& options, const Clock& clock, const WaitFunction& wait,
                  std::ostream& out, std::ostream& err);

}  // namespace tune
