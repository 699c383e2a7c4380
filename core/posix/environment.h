// What programs read from their environment; libraries are told.
#pragma once

#include <string>

namespace tune {

// The variable's text, empty if it is not set.
std::string EnvironmentText(const char* name);

// The variable's text, which is nowhere in the environment afterwards: neither for children nor for
// who reads /proc/PID/environ. Call it while the process has one thread.
std::string TakeFromEnvironment(const char* name);

// Where decoded data goes when its own folder cannot take it: $XDG_CACHE_HOME/tune, ~/.cache/tune,
// or nothing.
std::string UserCacheFolder();

}  // namespace tune
