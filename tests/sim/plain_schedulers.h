// The schedulers as their papers' readers would write them, with lists and sorting, against what
// was decided: each is given the reports that were committed, not the scheduler's fields.
#pragma once

#include "core/status.h"
#include "tests/sim/commit_log.h"

namespace tune::sim {

// ASHA's stopping form: each decision, field by field. ASHA's promoting form: nobody was promoted
// who was not among the best of its rung, and after each step nobody waits who is. Hyperband: a
// rung was decided when all of its bracket that live were there, and its best went on. The events
// of a step can have come in any order. Other schedulers: nothing.
Status RecomputeDecisions(const CommitLog& log);

}  // namespace tune::sim
