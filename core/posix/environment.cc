#include "core/posix/environment.h"

#include <cstdlib>

namespace tune {

std::string EnvironmentText(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string UserCacheFolder() {
  const std::string cache = EnvironmentText("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/tune";
  const std::string home = EnvironmentText("HOME");
  return home.empty() ? "" : home + "/.cache/tune";
}

}  // namespace tune
