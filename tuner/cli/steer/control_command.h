// `tune pause`, `tune unpause`, `tune stop`, `tune set` and `tune drain`: asks the tuner that runs
// the sweep, or, where none lives, does it on the stored sweep.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/clock.h"
#include "tuner/cli/look/status_command.h"
#include "tuner/control/control_request.h"

namespace tune {

struct ControlOptions {
  std::string db_path;
  ControlVerb verb = ControlVerb::kPause;
  std::string name;              // "": the sweep that runs, else the latest.
  std::optional<int64_t> trial;  // Its number.
  bool now = false;
  std::string worker;                  // Of drain.
  std::vector<std::string> arguments;  // Of set: NAME, if it is named, and KEY=VALUE.
};

// Returns the exit status: 0 with what will happen on `out`; 2 with one line on `err` when nothing
// was changed; 1 when it failed, or nobody answered.
int ControlCommand(const ControlOptions& options, const Clock& clock, const WaitFunction& wait,
                   std::ostream& out, std::ostream& err);

}  // namespace tune
