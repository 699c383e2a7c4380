// TRIAL on a command line: a number in the latest sweep, or NAME/NUMBER.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "tuner/cli/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

struct FoundTrial {
  FoundSweep sweep;
  int64_t id = 0;
  int64_t number = 0;

  std::string Name() const { return sweep.name + "/" + std::to_string(number); }
};

// kInvalidArgument says what a TRIAL looks like; kNotFound which sweeps and trials there are.
Result<FoundTrial> FindTrial(Database& database, const std::string& text);

}  // namespace tune
