#include "core/posix/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace tune {

std::string EnvironmentText(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// unsetenv forgets where the text is, but the kernel goes on showing the block that it lies in.
std::string TakeFromEnvironment(const char* name) {
  const std::string text = EnvironmentText(name);
  const std::string_view wanted = name;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view entry = *variable;
    const bool is_it = entry.starts_with(wanted) && entry.substr(wanted.size()).starts_with('=');
    if (!is_it) continue;
    const size_t begin = wanted.size() + 1;
    std::memset(*variable + begin, '*', entry.size() - begin);
  }
  unsetenv(name);
  return text;
}

std::string UserCacheFolder() {
  const std::string cache = EnvironmentText("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/tune";
  const std::string home = EnvironmentText("HOME");
  return home.empty() ? "" : home + "/.cache/tune";
}

}  // namespace tune
