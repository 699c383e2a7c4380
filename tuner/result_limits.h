// Limits on results: expressions over what trials report, and over parameters, that a result has to
// keep to be feasible (core/standing.h says what an infeasible one is worth).
//
//   feasible: ["latency_ms <= 20", "width * energy < 1e6"]
//
// They are core/expression.h. A name that is a parameter of the space is that; any other is a
// reported metric, in which '.' also stands for '/'. What a report violates is kept beside its
// metrics under "violation": 0 where it is feasible, nothing while a metric that a limit names has
// not been reported, kViolationUnknown where one is NaN.
//
// `constraints` are about parameters, before a trial begins; `metric_constraints`, the older form,
// make a report worthless that breaks them. A sweep has one of `feasible` and `metric_constraints`.
//
// Thread rule: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "core/expression.h"
#include "core/metric.h"
#include "core/status.h"
#include "core/value.h"
#include "search/space_parameter.h"

namespace tune {

inline constexpr char kViolationName[] = "violation";
// A metric that a program reports under that name is kept as this one.
inline constexpr char kReportedViolationName[] = "reported_violation";

// How a report stands to one limit.
struct LimitStanding {
  std::string text;
  bool is_kept = false;
  std::string numbers;  // "latency_ms = 23, width = 64": what it names, as it was.
};

class ResultLimits {
 public:
  ResultLimits() = default;  // None: each result is feasible.
  // `texts`: a text, a list of them, or null. Errors carry "line:column: " and the column within
  // the text: what the expression cannot be, a parameter that is misused (as Constraint's), a
  // metric compared with a text, a limit that names no metric, two simple bounds of one metric that
  // leave nothing between them.
  static Result<ResultLimits> Parse(const Value& texts,
                                    const std::vector<SpaceParameter>& parameters);

  bool empty() const { return limits_.empty(); }
  size_t size() const { return limits_.size(); }
  std::vector<std::string> texts() const;
  // What they name that is no parameter, each once, in the order of first use.
  const std::vector<std::string>& metric_names() const { return metric_names_; }
  const std::vector<std::string>& parameter_names() const { return parameter_names_; }

  // One for each limit: by how much it is broken (Expression::Margin). Nothing where a metric is
  // missing or NaN. A limit on a parameter that the configuration does not have is kept.
  std::vector<Metric> Margins(const Metrics& metrics, const Configuration& configuration) const;
  // For a person, in the order of the limits.
  std::vector<LimitStanding> Standings(const Metrics& metrics,
                                       const Configuration& configuration) const;
  // The metrics with the violation behind.
  Metrics Judged(Metrics metrics, const Configuration& configuration) const;

 private:
  struct Variable {
    std::string name;
    bool is_parameter = false;
  };
  struct Limit {
    Expression expression;
    std::vector<Variable> variables;
  };
  bool HasAll(const Metrics& metrics) const;
  Metric MarginOf(const Limit& limit, const Metrics& metrics,
                  const Configuration& configuration) const;
  static Result<Limit> ParseOne(const Value& text, const std::vector<SpaceParameter>& parameters);
  Status RefuseContradictions(const std::vector<Place>& places) const;

  std::vector<Limit> limits_;
  std::vector<std::string> metric_names_;
  std::vector<std::string> parameter_names_;  // As the configuration has them.
};

// What a judged report violates; nothing: nobody can tell yet, or the sweep has no limits.
inline Metric FindViolation(const Metrics& judged) { return FindMetric(judged, kViolationName); }

// "feasible", "infeasible: it violates the limits by 0.25", "infeasible: a metric that a limit
// names was NaN or not reported".
std::string DescribeViolation(double violation);
// "no trial is feasible: none kept latency_ms <= 20 and acc >= 0.7; the best is the one that
// violates them least, by 0.25". `violation`: of the best.
std::string NoTrialIsFeasible(const std::vector<std::string>& limits, double violation);
// Of the best configuration, of whose `runs` not all are feasible: "the best configuration kept
// latency_ms <= 20 in 1 of 2 runs; its runs violate the limits by 0.05 in the mean".
std::string NotEachRunIsFeasible(const std::vector<std::string>& limits, int64_t feasible_runs,
                                 int64_t runs, double violation);

}  // namespace tune
