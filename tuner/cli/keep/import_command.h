// `tune import`: a space file from AutoTuner's configuration (OpenROAD-flow-scripts, "Instructions
// for AutoTuner").
//
// Thread rule: one thread.
#pragma once

#include <iosfwd>
#include <string>

#include "core/status.h"

namespace tune {

struct ImportOptions {
  std::string path;  // Of the JSON file.
  std::string out;   // Of the space file; empty: standard output.
};

// The text of a space file. `json`: a map of names to {type, minmax, step} or constants. `name`: of
// the sweep, and of the file in messages. Errors carry "name:line:column: ".
Result<std::string> SpaceFromAutoTuner(const std::string& json, const std::string& name);

// An existing file is not replaced.
Status ImportCommand(const ImportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
