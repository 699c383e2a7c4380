// Whether the script that a command's program is given tells true and false apart.
//
// Thread rule: stateless.
#pragma once

#include <string>
#include <vector>

#include "trial_runner/command_spec.h"

namespace tune {

// The options with a parameter's value that the script reads with `type=bool` of Python's argparse,
// for which each text but the empty one is true. Nothing where it is not sure.
std::vector<std::string> OptionsReadAsBool(const CommandSpec& spec, const std::string& folder);

// What is one parameter's value, and what a Python script reads so that `true` and `false` are the
// same.
struct MisreadBoolean {
  std::string name;       // "the option --amp", "AMP of env".
  std::string parameter;  // Its flat name.
  std::string how;        // "for which each text is true", "by a comparison with '1', which ...".
};
// Of variables, and of options of argparse that have no type. Nothing where it is not sure.
std::vector<MisreadBoolean> MisreadBooleans(const CommandSpec& spec, const std::string& folder);

}  // namespace tune
