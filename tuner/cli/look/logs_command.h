// `tune logs TRIAL [-f]`: what a trial's attempts printed, as they printed it, wherever they ran.
//
// Thread rule: one thread.
#pragma once

#include <ostream>
#include <string>

#include "tuner/cli/look/status_command.h"

namespace tune {

struct LogsOptions {
  std::string db_path;
  std::string trial;    // "3" in the latest sweep, or "food11/3".
  bool follow = false;  // Until the trial ends, or nothing runs it any more, or `wait` says so.
  int64_t rank = 0;     // Of several: whose output.
};

// Returns the exit status: 0, also when nothing was printed; 2 with one line on `err`.
int LogsCommand(const LogsOptions& options, const WaitFunction& wait, std::ostream& out,
                std::ostream& err);

}  // namespace tune
