// What a sweep makes of the metrics that its trials report: an expression of them as its metric,
// and constraints on them that make a report infeasible (the older form of limits on results,
// tuner/result_limits.h).
//
//   metric: "power * 0.4 + delay * 0.6"
//   metric_constraints: ["area <= 100", "slack >= 0"]
//
// Both are core/expression.h over reported names (a '.' in them also stands for '/'). What a metric
// expression gives is kept beside the metrics that it was made of, under the expression's text;
// where there are constraints, "infeasible" is kept too: 1, 0, or NaN where nobody can know,
// because a metric that a constraint names is missing or no number. An infeasible report has no
// value: it is neither best nor compared, and searchers hear of it as of one that failed. Neither
// is one of which nobody can know the best; schedulers alone take its value, since what is missing
// may come later.
//
// Thread rule: immutable.
#pragma once

#include <string>
#include <vector>

#include "core/expression.h"
#include "core/metric.h"
#include "core/status.h"
#include "core/value.h"

namespace tune {

inline constexpr char kInfeasibleName[] = "infeasible";
// A metric that a program reports under that name is kept as this one.
inline constexpr char kReportedInfeasibleName[] = "reported_infeasible";

class MetricScores {
 public:
  MetricScores() = default;  // Each objective is a reported name, and all is feasible.
  // `metrics`: texts, one for each objective. `constraints`: a text, a list of them, or null.
  // Errors carry "line:column: ".
  static Result<MetricScores> Make(const Value::List& metrics, const Value& constraints);

  // What a trial must be able to report: the names of the objectives, in their order.
  const std::vector<std::string>& reported_names() const { return reported_names_; }
  // What constraints name.
  const std::vector<std::string>& constrained_names() const { return constrained_names_; }
  // Whether an objective is an expression.
  bool has_expressions() const { return !expressions_.empty(); }

  // The metrics with what is made of them behind.
  Metrics Scored(Metrics reported) const;

 private:
  std::vector<Expression> expressions_;
  std::vector<Expression> constraints_;
  std::vector<std::string> reported_names_;
  std::vector<std::string> constrained_names_;
};

// An objective's value in metrics that were scored: nothing where it is missing, not finite,
// infeasible, or not known to be feasible.
Metric FindObjective(const Metrics& scored, const std::string& objective);
// The same, with the value of what may be feasible.
Metric FindProvisional(const Metrics& scored, const std::string& objective);

}  // namespace tune
