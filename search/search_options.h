// What every algorithm takes beside its own options.
//
// Thread rule: constants.
#pragma once

#include <array>
#include <string_view>

#include "core/option_map.h"

namespace tune {

inline constexpr std::array<std::string_view, 2> kCommonSearchOptions = {"unique", "repeat"};

// The options of one algorithm, without the common ones, which a misspelt name may mean.
inline OptionMap SearchOptions(std::string_view algorithm, const Value& options) {
  return {"search", algorithm, options, kCommonSearchOptions};
}

}  // namespace tune
