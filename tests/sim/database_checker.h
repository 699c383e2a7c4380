// The database, as any reader finds it, against what was acknowledged; and against plain
// re-computations of what it says was decided.
#pragma once

#include "core/status.h"
#include "tests/sim/commit_log.h"
#include "tuner/sqlite/database.h"

namespace tune::sim {

// After every recovery: all that was committed is there, unchanged, and nothing else.
Status CompareWithLog(Database& database, const CommitLog& log);

// Once, at the end: configurations are those of a fresh searcher, each decision of ASHA is what the
// reports before it make it, trials add up from their reports and attempts, failures are counted
// right.
Status Recompute(const CommitLog& log);

}  // namespace tune::sim
