// Names of files in a line for a person.
//
// Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace tune {

// "a, b, c and 4 more".
inline std::string ListedNames(const std::vector<std::string>& names) {
  constexpr size_t kNamesShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  const size_t more = names.size() - std::min(names.size(), kNamesShown);
  return text + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

}  // namespace tune
