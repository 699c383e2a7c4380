// A sweep as it is stored and as a file has it now. What its decisions go by may not change, or
// earlier ones would not be comparable with later ones. The rest may: its settings.
//
// Thread rule: pure functions.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"
#include "tuner/experiment_spec.h"

namespace tune {

// A line for each place of space, constraints, points, from, metric, mode, search, scheduler,
// limits.lease, checkpoint.storage and the kind of trainable that is not the same:
// "space.lr.uniform[1]: 0.1 is stored, the file has 0.2". The order of parameters counts (a grid
// goes by it); a default written out is the same as one left out only for the names random and
// fifo.
std::vector<std::string> DescribeSpecDifferences(const ExperimentSpec& stored,
                                                 const ExperimentSpec& file);

// What may change while a sweep goes on.
inline constexpr std::array<std::string_view, 10> kSettings = {
    "trainable",  "resources", "stop",   "limits", "failure",
    "checkpoint", "priority",  "weight", "owner",  "reserve"};

// `document` of a sweep with another one's settings in place of its own. What the other leaves out
// has its default again.
Value WithSettings(Value document, const Value& other);

// A line for each place where the settings differ: "limits.trial_time is '20m', was '10m'".
std::vector<std::string> DescribeSettingsChanges(const Value& before, const Value& after);

}  // namespace tune
