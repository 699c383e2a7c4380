// `tune files TRIAL [--export DIR]`: what a trial's program wrote into its folder ($TUNE_DIR),
// beside logs and checkpoints, on whichever machine it ran.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "tuner/cli/words/text_table.h"

namespace tune {

struct FilesOptions {
  std::string db_path;
  std::string trial;       // "3" in the latest sweep, or "food11/3".
  std::string export_dir;  // Where they are copied to; empty: they are listed.
  OutputFormat format = OutputFormat::kTable;
  size_t width = 0;
};

// Returns the exit status: 0, also when there is none; 1: they cannot be read or written; 2: the
// command line is wrong, or the folder is there already. One line on `err`.
int FilesCommand(const FilesOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
