// The keys of a trainable that is a command (command_spec.h).
//
// Thread rule: constants.
#pragma once

#include <array>
#include <string_view>

namespace tune {

inline constexpr std::array<std::string_view, 10> kCommandKeys = {
    "command", "shell",  "env",     "working_dir", "serve",
    "setup",   "inputs", "metrics", "report_on",   "iteration"};

}  // namespace tune
