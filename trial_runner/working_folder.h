// The folder in which the programs of a trainable `command` run.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "core/value.h"

namespace tune {

// The trainable's `working_dir` from the space file's folder on, without a '/' at its end. Empty
// where the trainable is no command.
std::string WorkingFolder(const Value& trainable, const std::string& base_dir);

}  // namespace tune
