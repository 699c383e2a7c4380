// `tune doctor`: looks at the machine, the disk, the programs and the database, and says of each
// whether it will do: ok, warning or problem, with the remedy. Changes nothing.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "core/clock.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

struct DoctorOptions {
  std::string db_path;  // It need not be there.
  std::string program_dir;
  std::string version;  // Of this program.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;  // The terminal's; 0: none.
};

// Returns the exit status: 0, or 1 when there is a problem.
int DoctorCommand(const DoctorOptions& options, const Clock& clock, std::ostream& out,
                  std::ostream& err);

}  // namespace tune
