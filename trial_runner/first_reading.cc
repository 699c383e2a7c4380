#include "trial_runner/first_reading.h"

#include <charconv>

namespace tune {

std::string EncodeFirstReading(const FirstReading& reading) {
  return (reading.epoch ? std::to_string(*reading.epoch) : "-") + " " + reading.unit;
}

std::optional<FirstReading> ParseFirstReading(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view epoch = text.substr(0, space);
  FirstReading reading;
  reading.unit = text.substr(space + 1);
  if (epoch == "-") return reading;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(epoch.data(), epoch.data() + epoch.size(), number);
  if (error != std::errc() || end != epoch.data() + epoch.size()) return std::nullopt;
  reading.epoch = number;
  return reading;
}

}  // namespace tune
