#include "trial_runner/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

namespace tune {
namespace {

bool IsFile(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Result<std::string> FindProgram(const std::string& name, const std::string& path,
                                const std::string& folder) {
  if (name.find('/') != std::string::npos) {
    const std::string found = name.front() == '/' ? name : folder + "/" + name;
    if (!IsFile(found)) return NotFound("cannot start '" + name + "': there is no file " + found);
    if (access(found.c_str(), X_OK) != 0) {
      return InvalidArgument("cannot start '" + name + "': " + found +
                             " is not executable; chmod +x it, or name its interpreter first");
    }
    return found;
  }
  std::string_view rest = path;
  while (!name.empty() && !rest.empty()) {
    const size_t colon = rest.find(':');
    std::string entry(rest.substr(0, colon));
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    if (entry.empty() || entry.front() != '/') entry = folder + "/" + entry;
    const std::string found = entry + "/" + name;
    if (IsFile(found) && access(found.c_str(), X_OK) == 0) return found;
  }
  return NotFound("cannot start '" + name + "': no folder of PATH has a program of this name" +
                  (IsFile(folder + "/" + name) ? "; './" + name + "' names the file here" : ""));
}

}  // namespace tune
