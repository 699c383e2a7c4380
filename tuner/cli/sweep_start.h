// What a sweep's beginning and its going on have in common: what is checked before, and what is
// said as it leaves the terminal.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/cli/background.h"
#include "tuner/cli/page_place.h"
#include "tuner/cli/sweep.h"
#include "tuner/event.h"
#include "tuner/experiment_spec.h"

namespace tune {

// That programs and variables of the local worker's trials are there. Workers of other machines
// have environments of their own.
Status CheckEnvironment(const ExperimentSpec& spec, const SweepSurroundings& surroundings,
                        const std::string& program_dir);

// `is_wanted`: --ui was given.
Status CheckPage(bool is_wanted, const PagePlace& place);

// From here on a detached sweep speaks to its log; who waits for it is told when it runs. Nothing
// where `background` is null.
Status LeaveTerminal(Background* background, const std::string& sweep,
                     SweepSurroundings& surroundings);

// What earlier sweeps of the database tell this one: journalled, so that a resume decides by the
// same, whatever they do meanwhile.
Result<std::vector<Event>> KnownAtStart(const ExperimentSpec& spec, int64_t last_step,
                                        const std::string& db_path);

}  // namespace tune
