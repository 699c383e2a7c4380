// What a space file says about what its trials may use, and when they and the sweep end.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/experiment_spec.h"
#include "tuner/spec_section.h"

namespace tune {

// `root`: the file. Each reads the key of its name. Errors carry "line:column: ".
Status ReadResources(const SpecSection& root, ResourceRequest& out);
// Requires the spec's objectives. `reported`: the metrics that there can be; none: any.
Status ReadStop(const SpecSection& root, const std::vector<std::string>& reported,
                ExperimentSpec& spec);
Status ReadLimits(const SpecSection& root, SweepLimits& out);
Status ReadUntil(const SpecSection& root, ExperimentSpec& spec);
Status ReadFailure(const SpecSection& root, FailurePolicy& out);
Status ReadCheckpoint(const SpecSection& root, CheckpointPolicy& out);

}  // namespace tune
