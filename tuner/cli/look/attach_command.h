// `tune attach [NAME]`: watches a sweep that another process runs, as its own terminal would show
// it, until it has ended; from the database alone.
//
// Thread rule: one thread.
#pragma once

#include <ostream>
#include <string>

#include "core/clock.h"
#include "tuner/cli/look/live_screen.h"
#include "tuner/cli/look/status_command.h"

namespace tune {

struct AttachOptions {
  std::string db_path;
  std::string name;  // "": the sweep that runs, else the latest.
};

// The summary goes to `out`, the live view to `screen`. `wait` is false when it was told to stop
// (Ctrl-C): the sweep goes on, and 130 is returned. Otherwise the exit status that the sweep's own
// command would have had; 1 for an interrupted one, 2 with one line on `err` when there is none.
int AttachCommand(const AttachOptions& options, const Clock& clock, const WaitFunction& wait,
                  LiveScreen& screen, std::ostream& out, std::ostream& err);

}  // namespace tune
