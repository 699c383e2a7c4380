// A metric's value as a decision sees it: there, or not. NaN is "not there"; the infinities compare
// as numbers do.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// Whether it was reported, be it as NaN.
inline bool HasMetric(const Metrics& metrics, const std::string& name) {
  return std::any_of(metrics.begin(), metrics.end(),
                     [&](const auto& metric) { return metric.first == name; });
}

// "val_accuracy", "val/loss", "f1-score": what can only be a name, and no expression of names.
inline bool IsMetricName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const bool is_letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
    return is_letter || (c >= '0' && c <= '9') ||
           std::string_view("_-./:@%").find(c) != std::string_view::npos;
  });
}

// The only place where a direction is applied: strictly better in this mode.
inline bool IsBetter(double a, double b, Mode mode) { return mode == Mode::kMax ? a > b : a < b; }

}  // namespace tune
