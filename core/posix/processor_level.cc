#include "core/posix/processor_level.h"

#include <unistd.h>

namespace tune {

std::vector<std::string> ProcessorLevels() {
  std::vector<std::string> levels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) levels.emplace_back("x86-64-v4");
  if (__builtin_cpu_supports("x86-64-v3")) levels.emplace_back("x86-64-v3");
#endif
  return levels;
}

std::string ProgramForProcessor(const std::string& folder, const std::string& name,
                                const std::vector<std::string>& levels) {
  for (const std::string& level : levels) {
    std::string path = folder + "/" + level + "/" + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return folder + "/" + name;
}

}  // namespace tune
