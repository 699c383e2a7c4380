#include "search/space.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/input_error.h"
#include "core/limits.h"
#include "core/nearest_name.h"
#include "search/autotuner_form.h"
#include "search/foreign_domain.h"
#include "search/space_conditions.h"

namespace tune {
namespace {

constexpr std::string_view kWhen = "when";

bool IsDomainName(std::string_view name) {
  const auto names = Domain::Names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsDomain(const Value& value) {
  return value.is_map() &&
         std::any_of(value.AsMap().begin(), value.AsMap().end(),
                     [](const MapEntry& entry) { return IsDomainName(entry.key); });
}

// A map of parameters, unless it is a domain whose name was mistyped.
Status RefuseUnknownDomain(const Value& map) {
  const bool is_empty = std::all_of(map.AsMap().begin(), map.AsMap().end(),
                                    [](const MapEntry& each) { return each.key == kWhen; });
  if (is_empty) {
    return InvalidAt(map.place, "an empty map; expected a domain or nested parameters");
  }
  const MapEntry* const entry = MistypedDomain(map);
  if (entry == nullptr) return OkStatus();
  return InvalidAt(entry->key_place, "'" + entry->key + "' is not a domain" +
                                         DidYouMean(entry->key, Domain::Names()) +
                                         " (a nested parameter with a constant list is written {" +
                                         entry->key + ": {choice: [[...]]}})");
}

Status CheckName(const MapEntry& entry) {
  if (entry.key.empty()) return InvalidAt(entry.key_place, "a parameter's name is empty");
  if (entry.key.size() > limits::kNameBytesMax) {
    return InvalidAt(entry.key_place, "a parameter's name is longer than " +
                                          std::to_string(limits::kNameBytesMax) + " bytes");
  }
  if (entry.key.find('/') != std::string::npos) {
    return InvalidAt(entry.key_place, "the parameter's name '" + entry.key +
                                          "' has a '/'; write nested maps instead");
  }
  return OkStatus();
}

class SpaceReader {
 public:
  // `clauses`: the conditions of the maps around this one.
  Status ReadMap(const Value& map, const std::string& prefix, std::vector<WhenClause> clauses) {
    for (const MapEntry& entry : map.AsMap()) {
      if (entry.key == kWhen && !IsDomain(entry.value)) {
        if (!prefix.empty()) continue;  // Read where this map's name stands.
        return InvalidAt(entry.key_place,
                         "'when' stands beside a domain or in a nested map, not here");
      }
      TUNE_RETURN_IF_ERROR(CheckName(entry));
      TUNE_RETURN_IF_ERROR(ReadEntry(entry, prefix, clauses));
    }
    return OkStatus();
  }

  std::vector<SpaceParameter> parameters;
  std::vector<std::vector<WhenClause>> clauses_of;  // Each parameter's.

 private:
  Status ReadEntry(const MapEntry& entry, const std::string& prefix,
                   std::vector<WhenClause> clauses) {
    const Value& value = entry.value;
    const std::string name = prefix + entry.key;
    if (!value.is_map()) return Add(entry, name, value, std::move(clauses));
    const Value* const when = value.Find(kWhen);
    if (when != nullptr && (IsDomain(value) || !IsDomain(*when))) {
      clauses.push_back({*when, prefix});
    }
    if (IsDomain(value)) {
      TUNE_ASSIGN_OR_RETURN(Domain domain, Domain::Parse(value));
      return Add(entry, name, std::move(domain), std::move(clauses));
    }
    if (IsAutoTunerForm(value)) {
      TUNE_ASSIGN_OR_RETURN(auto content, ReadAutoTunerForm(value));
      return Add(entry, name, std::move(content), std::move(clauses));
    }
    const Value* constant = value.Find("constant");
    if (constant == nullptr) constant = value.Find("const");
    if (constant != nullptr && value.AsMap().size() == (when == nullptr ? 1 : 2)) {
      return Add(entry, name, *constant, std::move(clauses));
    }
    TUNE_RETURN_IF_ERROR(RefuseUnknownDomain(value));
    return ReadMap(value, name + "/", std::move(clauses));
  }

  Status Add(const MapEntry& entry, const std::string& name, std::variant<Value, Domain> content,
             std::vector<WhenClause> clauses) {
    if (static_cast<int64_t>(parameters.size()) >= limits::kParametersMax) {
      return InvalidAt(entry.key_place,
                       "more than " + std::to_string(limits::kParametersMax) + " parameters");
    }
    parameters.push_back(SpaceParameter{name, std::move(content), entry.key_place});
    clauses_of.push_back(std::move(clauses));
    return OkStatus();
  }
};

}  // namespace

Result<SearchSpace> SearchSpace::Parse(const Value& space, const Value& constraints) {
  SearchSpace result;
  if (!space.is_map() && !space.is_null()) {
    return InvalidAt(space.place, "space: read " + Shown(space) +
                                      ", expected a map from parameters to domains or constants");
  }
  SpaceReader reader;
  if (space.is_map()) TUNE_RETURN_IF_ERROR(reader.ReadMap(space, "", {}));
  result.parameters_ = std::move(reader.parameters);
  TUNE_RETURN_IF_ERROR(ResolveConditions(reader.clauses_of, result.parameters_));
  TUNE_ASSIGN_OR_RETURN(result.choosing_order_, OrderByConditions(result.parameters_));
  TUNE_RETURN_IF_ERROR(CheckContradictions(result.parameters_, result.choosing_order_));
  for (const SpaceParameter& parameter : result.parameters_) {
    result.has_conditions_ = result.has_conditions_ || !parameter.conditions.empty();
  }
  if (constraints.is_null()) return result;
  if (!constraints.is_list()) {
    return InvalidAt(constraints.place,
                     "constraints: read " + Shown(constraints) +
                         ", expected a list of expressions such as [\"width * depth <= 64\"]");
  }
  for (const Value& text : constraints.AsList()) {
    TUNE_ASSIGN_OR_RETURN(Constraint constraint, Constraint::Parse(text, result.parameters_));
    result.constraints_.push_back(std::move(constraint));
  }
  return result;
}

bool Condition::Holds(const Value& value) const {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool SearchSpace::IsActive(size_t parameter, const Configuration& configuration) const {
  const auto& conditions = parameters_[parameter].conditions;
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    const Value* const value = configuration.Find(parameters_[condition.parent].name);
    return value != nullptr && condition.Holds(*value);
  });
}

bool SearchSpace::IsActive(size_t parameter,
                           const std::vector<std::optional<Value>>& values) const {
  const auto& conditions = parameters_[parameter].conditions;
  return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
    const std::optional<Value>& value = values[condition.parent];
    return value.has_value() && condition.Holds(*value);
  });
}

std::vector<size_t> SearchSpace::ConstrainedParameters() const {
  std::vector<bool> is_wanted(parameters_.size());
  for (const Constraint& constraint : constraints_) {
    for (const size_t i : constraint.parameters()) is_wanted[i] = true;
  }
  std::vector<size_t> wanted;
  for (size_t at = choosing_order_.size(); at-- > 0;) {
    const size_t i = choosing_order_[at];
    if (!is_wanted[i]) continue;
    for (const Condition& condition : parameters_[i].conditions) is_wanted[condition.parent] = true;
    wanted.push_back(i);
  }
  std::reverse(wanted.begin(), wanted.end());
  return wanted;
}

bool SearchSpace::Allows(const Configuration& configuration) const {
  return std::all_of(constraints_.begin(), constraints_.end(), [&](const Constraint& constraint) {
    return constraint.IsSatisfied(configuration);
  });
}

}  // namespace tune
