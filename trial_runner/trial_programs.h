// Which of our programs runs the trials of a trainable. Apart from trainable_catalog.h, so that a
// worker needs to link nothing that trains.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "core/value.h"

namespace tune {

// "food11", "curve", "command" or "ask-tell" (trials that others run, in a sweep that is only told
// of them); an error that names the nearest known kind otherwise.
Result<std::string> TrainableKind(const Value& trainable);

// "food11" to "tune_trial_food11", "curve" to "tune_trial", "command" to "tune_trial_command"; the
// same errors, and one for ask-tell.
Result<std::string> TrialProgram(std::string_view kind);

// Whether it starts programs of users, and ends all of them when its connection closes.
bool RunsUserPrograms(std::string_view program);

}  // namespace tune
