// Runs another program for what it prints, as `git rev-parse HEAD`.
//
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"

namespace tune {

struct ProgramOutput {
  int exit_status = 0;  // 128 + signal when it was killed.
  std::string out;      // Standard output, the first MiB of it; standard error is thrown away.
};

// `arguments[0]` is a path, or a name to be searched in PATH. kNotFound when there is no such
// program; kUnavailable when it does not end within `time_max`: it is killed then, and waited for
// no longer than a second more, as one in the middle of a call of the system does not die.
Result<ProgramOutput> RunForOutput(const std::vector<std::string>& arguments, Duration time_max);

}  // namespace tune
