// The version of our programs. A tuner takes workers of its own version alone: what they say to
// each other may change with any release.
#pragma once

#include <string>
#include <string_view>

namespace tune {

extern const char kProgramVersion[];  // "0.1.0"

// "the worker is of version 0.1.0, the tuner of version 0.2.0: the worker is older; install 0.2.0
// on its machine", of two that must be the same and are not. `theirs` may be anything.
std::string DescribeVersions(std::string_view worker, std::string_view tuner);

// For programs without a command line of their own: answers "--version". True: it was asked, and
// the program is done.
bool AnswerVersion(int argc, char** argv);

}  // namespace tune
