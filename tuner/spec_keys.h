// The keys of a space file and of its sections: what the readers know, and the schema
// (spec_schema.h) tells editors.
//
// Thread rule: constants.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "trial_runner/messages.h"

namespace tune {

inline constexpr std::array<std::string_view, 25> kSpecKeys = {
    "name",     "trainable", "metric",  "mode",      "metric_constraints",
    "feasible", "samples",   "seed",    "space",     "constraints",
    "points",   "from",      "search",  "scheduler", "resources",
    "stop",     "until",     "limits",  "failure",   "checkpoint",
    "priority", "weight",    "reserve", "owner",     "after"};
inline constexpr std::array<std::string_view, 2> kUntilKeys = {"no_gain", "regret"};
inline constexpr std::array<std::string_view, 2> kReserveKeys = {"cpu", "gpu"};
inline constexpr std::array<std::string_view, 6> kResourceKeys = {"cpu",    "gpu",     "gpu_memory",
                                                                  "memory", "workers", "spread"};
inline constexpr std::array<std::string_view, 8> kLimitKeys = {
    "max_concurrent", "sweep_time",   "trial_time",  "no_progress",
    "failed_trials",  "failed_alike", "unplaceable", "lease"};
inline constexpr std::array<std::string_view, 3> kFailureKeys = {"max_failures", "backoff",
                                                                 "backoff_max"};
// Beside them in `failure`: those of the outcomes for which a policy makes sense.
inline constexpr std::array<std::pair<std::string_view, Outcome>, 6> kFailureCauses = {{
    {"crashed", Outcome::kCrashed},
    {"killed", Outcome::kKilled},
    {"out_of_memory", Outcome::kOutOfMemory},
    {"device_out_of_memory", Outcome::kDeviceOutOfMemory},
    {"hung", Outcome::kHung},
    {"lost", Outcome::kLost},
}};
inline constexpr std::array<std::string_view, 2> kCauseKeys = {"max_failures", "backoff"};
inline constexpr std::array<std::string_view, 7> kCheckpointKeys = {
    "every", "keep", "keep_best", "disk_budget", "storage", "storage_credentials", "async"};
// Of checkpoint.storage_credentials: each machine has its own, or the tuner signs.
inline constexpr std::array<std::string_view, 2> kWhoseCredentials = {"own", "tuner"};
inline constexpr std::string_view kStorageAuto = "auto";  // The default, written out.

}  // namespace tune
