// The variables of its environment in which a user's program finds its parameters.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

// Of an argument, or of a variable "NAME=value": what Linux takes (MAX_ARG_STRLEN).
inline constexpr size_t kArgumentBytesMax = (128 << 10) - 1;

// Upper case, other letters than A-Z and 0-9 as _: "optimizer/lr" is TUNE_PARAM_OPTIMIZER_LR.
std::string ParameterVariable(std::string_view flat_name);

// Those that would be several parameters' ("opt/lr" and "opt_lr"), with these: they are not set.
std::map<std::string, std::vector<std::string>> SharedVariables(
    const std::vector<std::string>& flat_names);

}  // namespace tune
