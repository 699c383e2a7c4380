// Sweeps and jobs that begin when others are over: `after` of a space file, tune submit --after.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

enum class AfterState {
  kMayBegin,  // All are over, and well: a job SUCCEEDED, a sweep FINISHED.
  kWaits,     // One is not over.
  kFailed,    // One was stopped, failed or is gone.
};

struct AfterView {
  AfterState state = AfterState::kMayBegin;
  std::string sentence;  // "begins when prepare is over", "prepare is FAILED".
};

// Of sweeps and jobs of the database, by name.
Result<AfterView> LookAfter(Database& database, const std::vector<std::string>& names);

// Before one with this `after` is stored: what goes before it is there, and has not failed.
Status CheckOrder(const std::string& db_path, const std::vector<std::string>& after);

// "begins when prepare is over" of a PAUSED sweep or job that a head holds until then; else "".
Result<std::string> WhatHoldsIt(Database& database, const FoundSweep& sweep);

}  // namespace tune
