// Metrics as an expression names them. Thread rule: pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "core/metric.h"

namespace tune {

// A nested one may be reported as it is written in the expression: "val/loss" as "val.loss". NaN is
// a number here: a value that was reported and is none.
inline std::optional<double> FindVariable(const Metrics& metrics, const std::string& variable) {
  std::string dotted = variable;
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  for (const auto& [name, value] : metrics) {
    if (name == variable || name == dotted) return value;
  }
  return std::nullopt;
}

}  // namespace tune
