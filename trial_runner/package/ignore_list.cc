#include "trial_runner/package/ignore_list.h"

#include <fnmatch.h>

#include <algorithm>

namespace tune {

Result<IgnoreList> IgnoreList::Parse(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  IgnoreList list;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(kBlanks)));
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::string label = "line " + std::to_string(number) + ": ";
    if (line.front() == '!') {
      return InvalidArgument(label + "read '" + std::string(line) +
                             "'; what is left out cannot be taken in again");
    }
    Pattern pattern;
    pattern.folders_alone = line.back() == '/';
    if (pattern.folders_alone) line.remove_suffix(1);
    pattern.is_path = line.find('/') != std::string_view::npos;
    if (!line.empty() && line.front() == '/') line.remove_prefix(1);
    if (line.empty()) return InvalidArgument(label + "read '/', expected a name or a path");
    pattern.text = line;
    list.patterns_.push_back(std::move(pattern));
  }
  return list;
}

bool IgnoreList::Holds(const std::string& path, bool is_folder) const {
  const std::string name = path.substr(path.rfind('/') + 1);
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const Pattern& pattern) {
    if (pattern.folders_alone && !is_folder) return false;
    const std::string& tried = pattern.is_path ? path : name;
    return fnmatch(pattern.text.c_str(), tried.c_str(), FNM_PATHNAME) == 0;
  });
}

}  // namespace tune
