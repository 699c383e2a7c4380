// Numbers that another program printed, with the white space of their line around them: "3\r" is
// what a shell reads from a line that ends with CR LF.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tune {

// Without the spaces, tabs and line ends at both ends.
std::string_view TrimSpace(std::string_view text);

// An argument of a command line that is a number, or ends in one after its last '=' or '/'
// ("--seed=3", "loss=0.5", "food11/3"), without the white space around the number. Other arguments
// come back as they are.
std::string TrimAroundNumber(const std::string& argument);

// Whether a command line's parser takes an argument for options though it is a number: "-inf",
// "-nan", "-.5". "-0.5" is none of them.
bool IsNumberLikeOptions(std::string_view argument);

}  // namespace tune
