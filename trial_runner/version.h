// The version of our programs. A tuner takes workers of its own version alone: what they say to
// each other may change with any release.
#pragma once

namespace tune {

extern const char kProgramVersion[];  // "0.1.0"

}  // namespace tune
