// Metrics as an expression names them. Thread rule: pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/expression.h"
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

// Nothing where a metric is missing that the expression needs. All of its variables are numbers.
inline std::optional<double> EvaluateOver(const Expression& expression, const Metrics& metrics) {
  std::vector<ExpressionInput> inputs;
  for (const ExpressionVariable& variable : expression.variables()) {
    const std::optional<double> number = FindVariable(metrics, variable.name);
    if (!number) return std::nullopt;
    inputs.push_back({*number});
  }
  return expression.Evaluate(inputs);
}

}  // namespace tune
