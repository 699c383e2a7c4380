#include "tuner/metric_scores.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/input_error.h"
#include "core/metric_variable.h"

namespace tune {
namespace {

Result<Expression> ParseOver(std::string_view key, const Value& text) {
  const std::string label = std::string(key) + ": ";
  if (!text.is_string()) {
    return InvalidAt(text.place, label + "read " + Shown(text) + ", expected an expression");
  }
  Result<Expression> expression = Expression::Parse(text.AsString());
  if (!expression.ok()) return InvalidAt(text.place, label + expression.status().message());
  for (const ExpressionVariable& variable : expression->variables()) {
    if (!variable.used_as_text) continue;
    return InvalidAt(text.place, label + "metrics are numbers: '" + variable.name +
                                     "' cannot be compared with a text");
  }
  if (expression->variables().empty()) {
    return InvalidAt(text.place, label + "no metric is named in " + Shown(text));
  }
  return expression;
}

}  // namespace

Result<MetricScores> MetricScores::Make(const Value::List& metrics, const Value& constraints) {
  MetricScores scores;
  for (const Value& metric : metrics) {
    if (metric.AsString() == kInfeasibleName) {
      return InvalidAt(metric.place,
                       "metric: the name 'infeasible' is what metric_constraints are told under; "
                       "report it under another name");
    }
    if (IsMetricName(metric.AsString())) {
      scores.reported_names_.push_back(metric.AsString());
      continue;
    }
    TUNE_ASSIGN_OR_RETURN(Expression expression, ParseOver("metric", metric));
    for (const ExpressionVariable& variable : expression.variables()) {
      scores.reported_names_.push_back(variable.name);
    }
    scores.expressions_.push_back(std::move(expression));
  }
  if (constraints.is_null()) return scores;
  for (const Value& text :
       constraints.is_list() ? constraints.AsList() : Value::List{constraints}) {
    TUNE_ASSIGN_OR_RETURN(Expression constraint, ParseOver("metric_constraints", text));
    for (const ExpressionVariable& variable : constraint.variables()) {
      scores.constrained_names_.push_back(variable.name);
    }
    scores.constraints_.push_back(std::move(constraint));
  }
  return scores;
}

Metrics MetricScores::Scored(Metrics reported) const {
  // A program's own number of that name is no verdict of the sweep's.
  for (auto& [name, value] : reported) {
    if (name == kInfeasibleName) name = kReportedInfeasibleName;
  }
  bool is_infeasible = false;
  bool is_known = true;
  for (const Expression& constraint : constraints_) {
    const std::optional<double> holds = EvaluateOver(constraint, reported);
    is_infeasible = is_infeasible || (holds && !Expression::IsTrue(*holds));
    is_known = is_known && holds.has_value();
  }
  Metrics made;
  for (const Expression& expression : expressions_) {
    if (const auto value = EvaluateOver(expression, reported)) {
      made.emplace_back(expression.text(), *value);
    }
  }
  if (!constraints_.empty()) {
    made.emplace_back(kInfeasibleName, is_infeasible ? 1.0 : is_known ? 0.0 : std::nan(""));
  }
  reported.insert(reported.end(), made.begin(), made.end());
  return reported;
}

Metric FindObjective(const Metrics& scored, const std::string& objective) {
  const bool is_known =
      !HasMetric(scored, kInfeasibleName) || FindMetric(scored, kInfeasibleName).has_value();
  return is_known ? FindProvisional(scored, objective) : std::nullopt;
}

Metric FindProvisional(const Metrics& scored, const std::string& objective) {
  const Metric infeasible = FindMetric(scored, kInfeasibleName);
  if (infeasible && *infeasible != 0) return std::nullopt;
  const Metric value = Finite(FindMetric(scored, objective));
  // Zero has no sign, as in the database.
  return value ? Metric(*value + 0.0) : value;
}

}  // namespace tune
