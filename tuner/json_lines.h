// One JSON object a line: how `tune decide` and `tune ask-tell` are spoken to.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/metric.h"
#include "core/status.h"
#include "core/value.h"

namespace tune {

class LineReader {
 public:
  // The object on the next line; nothing for a line of blanks. The words NaN and Infinity are read
  // as Python writes them.
  Result<std::optional<Value>> Read(std::string_view line);

  // InvalidArgument with the number of the line read last: "line 3: ...".
  Status Error(std::string_view message) const;

  // The integer of `min` or more under `key`.
  Result<int64_t> ReadInt(const Value& object, std::string_view key, int64_t min) const;
  // The metric under `key`: absent, null and NaN are no value. Anything but a number is an error.
  Result<Metric> ReadMetric(const Value& object, std::string_view key) const;

 private:
  int64_t line_ = 0;
};

}  // namespace tune
