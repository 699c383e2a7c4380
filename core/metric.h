// A metric's value as a decision sees it: there, or not. NaN is "not there"; the infinities compare
// as numbers do.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tune {

enum class Mode { kMax, kMin };

using Metric = std::optional<double>;

// One for each objective of the sweep, in the spec's order; one alone in most sweeps.
using Objectives = std::span<const Metric>;

// Names in the order of the report; NaN is kept here, for the record.
using Metrics = std::vector<std::pair<std::string, double>>;

inline Metric FindMetric(const Metrics& metrics, const std::string& name) {
  for (const auto& [key, value] : metrics) {
    if (key == name) return std::isnan(value) ? Metric() : Metric(value);
  }
  return std::nullopt;
}

// The only place where a direction is applied: strictly better in this mode.
inline bool IsBetter(double a, double b, Mode mode) { return mode == Mode::kMax ? a > b : a < b; }

}  // namespace tune
