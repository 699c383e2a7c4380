// `tune init SCRIPT`: a space file from a script's options and what it prints. The script is read
// by python/tune_init, and never run.
//
// Thread rule: one thread.
#pragma once

#include <ostream>
#include <string>

namespace tune {

struct InitOptions {
  std::string program_dir;
  std::string script;
  std::string command;                    // Its program and options, as in a shell; empty: by name.
  std::string log;                        // Of an earlier run; empty: none.
  std::string space_path = "space.yaml";  // "-": standard output.
  bool force = false;                     // Also over a file that is there.
};

// Returns the exit status.
int InitCommand(const InitOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
