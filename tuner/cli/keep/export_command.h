// `tune export [NAME] --to FORMAT DIR`: a sweep in the form of another tool.
//
// Thread rule: one thread.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace tune {

struct ExportOptions {
  std::string db_path;
  std::string format;                  // "csv", ...
  std::vector<std::string> arguments;  // [NAME] DIR; without NAME the latest sweep.
};

// Returns the exit status. The folder is there whole or not at all; one that is there already and
// not empty is refused. Says on `err` how far it is and what it wrote.
int ExportCommand(const ExportOptions& options, std::ostream& err);

}  // namespace tune
