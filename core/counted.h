// A number with its noun, as a person says it.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace tune {

// "1 trial", "4 trials", "0 trials".
inline std::string Counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace tune
