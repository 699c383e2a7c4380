// A metric's value as a decision sees it: a finite number, or nothing. NaN and the infinities are
// kept for the record and are no values.
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

// NaN and the infinities are no values.
inline Metric Finite(Metric value) { return value && std::isfinite(*value) ? value : Metric(); }

// As it was reported: an infinity, too. Nothing where it is missing or NaN.
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

// The only place where a direction is applied (tidy_test), but for rows that SQLite orders:
// tuner/best_trial.h. Of losses the lower one is better.
inline double AsLoss(double value, Mode mode) { return mode == Mode::kMin ? value : -value; }
// Whether `a` is strictly better.
inline bool IsBetter(double a, double b, Mode mode) { return AsLoss(a, mode) < AsLoss(b, mode); }
inline bool IsLargeBetter(Mode mode) { return IsBetter(1, 0, mode); }
// The value that is worse by `difference`.
inline double Worse(double value, double difference, Mode mode) {
  return AsLoss(AsLoss(value, mode) + difference, mode);
}

}  // namespace tune
