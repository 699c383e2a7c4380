// What a trainable will be given, looked at before anything starts.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "search/space.h"
#include "tuner/experiment_spec.h"

namespace tune {

struct CheckedConfigurations {
  Configuration first;
  std::string advice;  // One line about the first of them that needs some; empty: none does.
};

// The types and ranges of the trainable's parameters in the first configurations that its searcher
// suggests. kInvalidArgument, with its place in the file: "the configuration of trial 0: lr: read
// -1, expected ...".
Result<CheckedConfigurations> CheckConfigurations(const ExperimentSpec& spec, uint64_t seed);

// What a metric of that name is usually wanted to be: "val_loss" small, "top1.acc" large; nothing:
// its name does not say, or it is an expression's.
std::optional<Mode> UsualMode(std::string_view metric);

// What a person should know before the start, a line each: parameters that the program will not
// see, a space in which nothing varies, files that trials share, a metric that is wanted the other
// way round.
std::vector<std::string> WarningsBeforeStart(const ExperimentSpec& spec, const SearchSpace& space);

}  // namespace tune
