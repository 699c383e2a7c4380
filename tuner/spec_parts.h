// What other rooms check of a space file: the space, the search, the scheduler and the trainable.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/experiment_spec.h"

namespace tune {

// Requires all of the spec that these are of, and its objectives. Returns the metrics that the
// trainable can report; none where there is no trainable, or it may report others. Errors carry
// "line:column: ".
Result<std::vector<std::string>> CheckParts(const ExperimentSpec& spec, bool require_trainable);

// Whether reports need not wait for their checkpoints, which the scheduler may want. Requires all
// of the spec that these are of.
Status CheckAsync(const ExperimentSpec& spec);

// Whether the trainable takes the names of the space, each constant and each value of a list, with
// "line:column: "; of numbers in a range configurations tell. For a space file that is new: a sweep
// that has begun goes on with what never was drawn.
Status CheckValues(const ExperimentSpec& spec);

}  // namespace tune
