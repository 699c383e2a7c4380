// How an attempt's first value stood in what its program printed: what a sweep's trials must have
// in common for their values to compare, and no single one of them shows.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tune {

struct FirstReading {
  std::optional<int64_t> epoch;  // That its line names.
  std::string unit;              // Right behind it: "%", "ms", "/50"; empty: none.
  friend bool operator==(const FirstReading&, const FirstReading&) = default;
};

// "4 %"; nothing to read in any other text gives nothing.
std::string EncodeFirstReading(const FirstReading& reading);
std::optional<FirstReading> ParseFirstReading(std::string_view text);

}  // namespace tune
