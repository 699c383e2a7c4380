// `tune delete NAME [--yes]`: a sweep's rows, in one transaction, and then its artifacts, whose
// folder is set aside and removed (deleted_folders.h). Cut off after the first, it leaves a folder
// that `tune gc` finds. A head that holds the database does both, the removal after its answer
// (folder_remover.h).
//
// Thread rule: one thread.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "core/clock.h"

namespace tune {

struct DeleteOptions {
  std::string db_path;
  std::string name;
  bool yes = false;          // Does not ask.
  bool is_terminal = false;  // Whether someone can be asked.
};

// Returns the exit status: 0, also when the answer was no; 1 when a tuner holds the database (its
// pid and host are said) or the folder could not be removed; 2 with one line on `err` and nothing
// deleted.
int DeleteCommand(const DeleteOptions& options, const Clock& clock, std::istream& in,
                  std::ostream& out, std::ostream& err);

}  // namespace tune
