#include "tuner/result_limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/counted.h"
#include "core/input_error.h"
#include "core/metric_variable.h"
#include "core/nearest_name.h"
#include "core/standing.h"
#include "search/constraint.h"

namespace tune {
namespace {

void AddOnce(const std::string& name, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::string Quoted(const std::string& text) { return "'" + text + "'"; }

std::string ShownNumber(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", number);
  return text.data();
}

}  // namespace

Result<ResultLimits::Limit> ResultLimits::ParseOne(const Value& text,
                                                   const std::vector<SpaceParameter>& parameters) {
  if (!text.is_string()) {
    return InvalidAt(text.place, "feasible: read " + Shown(text) +
                                     ", expected an expression such as \"latency_ms <= 20\"");
  }
  Result<Expression> expression = Expression::Parse(text.AsString());
  if (!expression.ok()) {
    return InvalidAt(text.place, "feasible: " + expression.status().message());
  }
  Limit limit = {*std::move(expression), {}};
  bool names_metric = false;
  for (const ExpressionVariable& variable : limit.expression.variables()) {
    const auto wrong = [&](const std::string& what) {
      return InvalidAt(text.place, "feasible: column " + std::to_string(variable.column) + " of " +
                                       Quoted(limit.expression.text()) + ": " + what);
    };
    const SpaceParameter* const parameter = FindNamed(variable, parameters);
    if (parameter != nullptr) {
      const std::string misuse = MisuseOf(variable, *parameter);
      if (!misuse.empty()) return wrong(misuse);
      limit.variables.push_back({parameter->name, true});
      continue;
    }
    if (variable.used_as_text) {
      std::vector<std::string> names;
      for (const SpaceParameter& known : parameters) names.push_back(Dotted(known.name));
      const std::vector<std::string_view> views(names.begin(), names.end());
      const std::string written = Dotted(variable.name);
      const auto nearest = NearestName(written, views);
      return wrong("'" + written +
                   "' is no parameter, and a metric is a number, which cannot be compared with a "
                   "text" +
                   (nearest ? "; did you mean '" + std::string(*nearest) + "'?" : ""));
    }
    names_metric = true;
    limit.variables.push_back({variable.name, false});
  }
  if (!limit.expression.IsCondition()) {
    return InvalidAt(text.place, "feasible: " + Quoted(limit.expression.text()) +
                                     " compares nothing; expected such as \"latency_ms <= 20\"");
  }
  if (names_metric) return limit;
  return InvalidAt(text.place,
                   "feasible: " + Quoted(limit.expression.text()) +
                       (limit.variables.empty()
                            ? " names no metric"
                            : " names parameters alone; what a configuration has to keep stands "
                              "under `constraints`, and is known before its trial begins"));
}

Result<ResultLimits> ResultLimits::Parse(const Value& texts,
                                         const std::vector<SpaceParameter>& parameters) {
  ResultLimits limits;
  if (texts.is_null()) return limits;
  std::vector<Place> places;
  for (const Value& text : texts.is_list() ? texts.AsList() : Value::List{texts}) {
    TUNE_ASSIGN_OR_RETURN(Limit limit, ParseOne(text, parameters));
    for (const Variable& variable : limit.variables) {
      AddOnce(variable.name,
              variable.is_parameter ? limits.parameter_names_ : limits.metric_names_);
    }
    limits.limits_.push_back(std::move(limit));
    places.push_back(text.place);
  }
  TUNE_RETURN_IF_ERROR(limits.RefuseContradictions(places));
  return limits;
}

// Of simple bounds alone: what other expressions leave nobody knows beforehand.
Status ResultLimits::RefuseContradictions(const std::vector<Place>& places) const {
  for (size_t i = 0; i < limits_.size(); ++i) {
    const auto one = limits_[i].expression.AsBound();
    for (size_t j = 0; one && j < i; ++j) {
      const auto other = limits_[j].expression.AsBound();
      const bool is_same = limits_[i].variables[0].name == limits_[j].variables[0].name;
      if (!other || !is_same || one->is_upper == other->is_upper) continue;
      const double upper = one->is_upper ? one->number : other->number;
      const double lower = one->is_upper ? other->number : one->number;
      const bool is_empty =
          lower > upper || (lower == upper && (one->is_strict || other->is_strict));
      if (!is_empty) continue;
      return InvalidAt(places[i], "feasible: read " + Quoted(limits_[i].expression.text()) +
                                      " beside " + Quoted(limits_[j].expression.text()) +
                                      ": no value of '" + limits_[i].variables[0].name +
                                      "' keeps both; change one of them");
    }
  }
  return OkStatus();
}

std::vector<std::string> ResultLimits::texts() const {
  std::vector<std::string> texts;
  for (const Limit& limit : limits_) texts.push_back(limit.expression.text());
  return texts;
}

Metric ResultLimits::MarginOf(const Limit& limit, const Metrics& metrics,
                              const Configuration& configuration) const {
  std::vector<ExpressionInput> inputs;
  inputs.reserve(limit.variables.size());
  for (const Variable& variable : limit.variables) {
    if (variable.is_parameter) {
      const Value* const value = configuration.Find(variable.name);
      if (value == nullptr) return 0.0;
      inputs.push_back(InputOf(*value));
      continue;
    }
    const std::optional<double> number = FindVariable(metrics, variable.name);
    if (!number || std::isnan(*number)) return std::nullopt;
    inputs.push_back({*number});
  }
  const double margin = limit.expression.Margin(inputs);
  return std::isnan(margin) ? Metric() : Metric(margin);
}

std::vector<Metric> ResultLimits::Margins(const Metrics& metrics,
                                          const Configuration& configuration) const {
  std::vector<Metric> margins;
  margins.reserve(limits_.size());
  for (const Limit& limit : limits_) margins.push_back(MarginOf(limit, metrics, configuration));
  return margins;
}

std::vector<LimitStanding> ResultLimits::Standings(const Metrics& metrics,
                                                   const Configuration& configuration) const {
  std::vector<LimitStanding> standings;
  for (const Limit& limit : limits_) {
    const Metric margin = MarginOf(limit, metrics, configuration);
    LimitStanding& standing = standings.emplace_back();
    standing.text = limit.expression.text();
    standing.is_kept = margin && *margin <= 0;
    for (const Variable& variable : limit.variables) {
      const std::optional<double> number =
          variable.is_parameter ? std::nullopt : FindVariable(metrics, variable.name);
      const Value* const value =
          variable.is_parameter ? configuration.Find(variable.name) : nullptr;
      standing.numbers += (standing.numbers.empty() ? "" : ", ") + Dotted(variable.name) + " = " +
                          (number  ? ShownNumber(*number)
                           : value ? Shown(*value)
                                   : "not there");
    }
  }
  return standings;
}

bool ResultLimits::HasAll(const Metrics& metrics) const {
  return std::all_of(metric_names_.begin(), metric_names_.end(), [&](const std::string& name) {
    return FindVariable(metrics, name).has_value();
  });
}

Metrics ResultLimits::Judged(Metrics metrics, const Configuration& configuration) const {
  if (limits_.empty()) return metrics;
  // A program's own number of that name is no verdict of the sweep's.
  for (auto& metric : metrics) {
    if (metric.first == kViolationName) metric.first = kReportedViolationName;
  }
  if (!HasAll(metrics)) return metrics;
  metrics.emplace_back(kViolationName, ViolationOf(Margins(metrics, configuration)));
  return metrics;
}

std::string DescribeViolation(double violation) {
  if (violation == 0) return "feasible";
  if (violation >= kViolationUnknown) {
    return "infeasible: a metric that a limit names was NaN or not reported, or a limit came to no "
           "number";
  }
  return "infeasible: it violates the limits by " + ShownNumber(violation);
}

namespace {

constexpr char kWhyUnknown[] =
    "because a metric of a limit was NaN or not reported, or a limit came to no number";

std::string Joined(const std::vector<std::string>& limits) {
  std::string joined;
  for (const std::string& limit : limits) joined += (joined.empty() ? "" : " and ") + limit;
  return joined;
}

}  // namespace

std::string NotEachRunIsFeasible(const std::vector<std::string>& limits, int64_t feasible_runs,
                                 int64_t runs, double violation) {
  const std::string begin = "the best configuration kept " + Joined(limits) + " in " +
                            (feasible_runs == 0 ? "none" : std::to_string(feasible_runs)) + " of " +
                            Counted(runs, "run");
  if (violation >= kViolationUnknown) {
    return begin + "; by how much is not known of all of them, " + kWhyUnknown;
  }
  return begin + "; its runs violate the limits by " + ShownNumber(violation) + " in the mean";
}

std::string NoTrialIsFeasible(const std::vector<std::string>& limits, double violation) {
  const std::string none = "no trial is feasible: none kept " + Joined(limits);
  if (violation >= kViolationUnknown) {
    return none + "; of no trial is known by how much, " + kWhyUnknown;
  }
  return none + "; the best is the one that violates them least, by " + ShownNumber(violation);
}

}  // namespace tune
