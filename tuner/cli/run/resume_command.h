// `tune resume [NAME]`: what was decided by must be as it was; the sweep is recovered from its
// journal, and conducted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/time.h"
#include "tuner/cli/look/page_place.h"

namespace tune {

struct ResumeOptions {
  std::string name;  // Empty: the latest unfinished one.
  std::string db_path;
  std::string program_dir;
  std::string command_line;
  std::optional<int64_t> samples;      // The new total.
  bool errored = false;                // Trials that failed get another chance.
  std::string space_path;              // Its settings count from now on; the rest must be the same.
  std::vector<std::string> overrides;  // --set, over that file, or over what is stored.
  std::optional<int64_t> cpus;
  std::optional<int64_t> gpus;
  std::string listen;
  Duration token_validity;
  int64_t checkpoint_bytes_max = limits::kCheckpointBytesMax;  // Of one that a worker sends.
  std::string log;                                             // As of RunOptions.
  bool ui = false;                                             // As of RunOptions.
  PagePlace page;                                              // As of RunOptions.
  bool detach = false;
  std::string data_dir;  // FOOD11_DATA_DIR, or empty.
};

// Returns the exit status.
int ResumeCommand(const ResumeOptions& options);

}  // namespace tune
