// The version of our programs. A tuner takes workers of its own version alone: what they say to
// each other may change with any release.
#pragma once

namespace tune {

extern const char kProgramVersion[];  // "0.1.0"

// For programs without a command line of their own: answers "--version". True: it was asked, and
// the program is done.
bool AnswerVersion(int argc, char** argv);

}  // namespace tune
