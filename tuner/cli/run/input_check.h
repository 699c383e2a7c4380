// Looks at the data in object stores that a sweep is about to use (trial_runner/command_inputs.h).
// Its workers fetch them by themselves, with credentials of their own: where this machine has none,
// nothing can be said.
//
// Thread rule: any thread; each call waits for the store, for a while.
#pragma once

#include <stop_token>
#include <vector>

#include "core/status.h"
#include "tuner/experiment_spec.h"
#include "tuner/provenance.h"

namespace tune {

// As they are listed now. What cannot be listed from here is left out.
std::vector<DataState> LookAtInputs(const ExperimentSpec& spec, const std::stop_token& stop = {});

// kInvalidArgument, one line: what no worker could fetch either, since there is no such bucket, or
// nothing in it of that name, or what is there cannot be files. Of what cannot be listed from here
// a warning is printed.
Status CheckBucketInputs(const ExperimentSpec& spec);

}  // namespace tune
