// How far trials' checkpoints are durable, where reports do not wait for theirs (checkpoint.async).
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "tuner/sqlite/database.h"

namespace tune {

// A trial that is not over and has reported beyond its latest durable checkpoint.
struct TrialAhead {
  int64_t number = 0;
  int64_t iterations = 0;
  int64_t durable = 0;  // 0: it has none.
};
// By number; none of a sweep whose reports wait.
Result<std::vector<TrialAhead>> ReadTrialsAhead(Database& database, int64_t sweep);
// "trial 3 up to iteration 5 of 7, trial 4 none of 2 and 6 more"; empty: nothing.
std::string Describe(const std::vector<TrialAhead>& trials);
Value ToValue(const std::vector<TrialAhead>& trials);

}  // namespace tune
