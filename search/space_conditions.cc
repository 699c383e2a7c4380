#include "search/space_conditions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "core/input_error.h"
#include "core/nearest_name.h"

namespace tune {
namespace {

using Parameters = std::vector<SpaceParameter>;
using ParameterIndex = std::map<std::string, size_t, std::less<>>;

// The scope around a scope: "a/b/" is within "a/", that within "".
std::string_view Around(std::string_view scope) {
  scope.remove_suffix(1);
  const size_t slash = scope.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : scope.substr(0, slash + 1);
}

// "kind" or "optimizer.kind", looked for from `scope` outwards.
std::optional<size_t> FindFrom(std::string_view scope, const std::string& written,
                               const ParameterIndex& index) {
  std::string slashed = written;
  std::replace(slashed.begin(), slashed.end(), '.', '/');
  while (true) {
    for (const std::string& name : {written, slashed}) {
      const auto found = index.find(std::string(scope) + name);
      if (found != index.end()) return found->second;
    }
    if (scope.empty()) return std::nullopt;
    scope = Around(scope);
  }
}

Status UnknownParent(const MapEntry& entry, const Parameters& parameters) {
  std::vector<std::string_view> known;
  for (const SpaceParameter& parameter : parameters) known.push_back(parameter.name);
  // A short name is meant for the last part of a nested one.
  std::vector<std::string_view> parts;
  for (const std::string_view name : known) parts.push_back(name.substr(name.rfind('/') + 1));
  if (!NearestName(entry.key, known) && NearestName(entry.key, parts)) known = parts;
  return InvalidAt(entry.key_place, "when: there is no parameter '" + entry.key + "'" +
                                        DidYouMean(entry.key, known));
}

// The parameter's own value that equals `read`; an error when it never has such a one.
Result<Value> ParentValue(const SpaceParameter& parent, const Value& read) {
  const auto* const constant = std::get_if<Value>(&parent.content);
  if (constant != nullptr) {
    if (IsSameValue(*constant, read)) return *constant;
    return InvalidAt(read.place, "when: '" + parent.name + "' is always " + Shown(*constant) +
                                     ", never " + Shown(read));
  }
  const Domain& domain = std::get<Domain>(parent.content);
  if (std::optional<Value> own = domain.OwnValue(read)) return *std::move(own);
  return InvalidAt(read.place, "when: '" + parent.name + "' is never " + Shown(read) + "; it is " +
                                   domain.ToText());
}

Result<Condition> ReadCondition(const MapEntry& entry, size_t parent_index,
                                const SpaceParameter& parent) {
  const auto* const domain = std::get_if<Domain>(&parent.content);
  if (domain != nullptr && !domain->is_discrete()) {
    return InvalidAt(entry.key_place, "when: '" + parent.name + "' is " +
                                          std::string(domain->name()) +
                                          "; a condition needs a parameter with countable values");
  }
  std::vector<Value> read = {entry.value};
  if (entry.value.is_list()) read = entry.value.AsList();
  if (read.empty()) {
    return InvalidAt(entry.value.place,
                     "when: '" + entry.key + "' has an empty list; name at least one value");
  }
  Condition condition;
  condition.parent = parent_index;
  for (const Value& value : read) {
    TUNE_ASSIGN_OR_RETURN(Value own, ParentValue(parent, value));
    condition.values.push_back(std::move(own));
  }
  return condition;
}

Status ReadClause(const WhenClause& clause, const ParameterIndex& index, Parameters& parameters,
                  size_t parameter) {
  if (!clause.when.is_map() || clause.when.AsMap().empty()) {
    return InvalidAt(clause.when.place,
                     "when: read " + (clause.when.is_map() ? "an empty map" : Shown(clause.when)) +
                         ", expected another parameter and its value or values, as in "
                         "{optimizer: adam}");
  }
  for (const MapEntry& entry : clause.when.AsMap()) {
    const std::optional<size_t> parent = FindFrom(clause.scope, entry.key, index);
    if (!parent) return UnknownParent(entry, parameters);
    if (*parent == parameter) {
      return InvalidAt(entry.key_place,
                       "when: '" + parameters[parameter].name + "' depends on itself");
    }
    TUNE_ASSIGN_OR_RETURN(Condition condition, ReadCondition(entry, *parent, parameters[*parent]));
    parameters[parameter].conditions.push_back(std::move(condition));
  }
  return OkStatus();
}

// Of parameters none of which can come first: from one of them along its parents until one comes
// again.
Status CircleError(const Parameters& parameters, const std::vector<bool>& is_placed, size_t start) {
  std::vector<size_t> path;
  size_t at = start;
  while (std::find(path.begin(), path.end(), at) == path.end()) {
    path.push_back(at);
    for (const Condition& condition : parameters[at].conditions) {
      if (!is_placed[condition.parent]) at = condition.parent;
    }
  }
  std::string circle;
  for (auto it = std::find(path.begin(), path.end(), at); it != path.end(); ++it) {
    circle += "'" + parameters[*it].name + "' -> ";
  }
  return InvalidAt(parameters[at].place, "when: the conditions go in a circle: " + circle + "'" +
                                             parameters[at].name + "'");
}

}  // namespace

Status ResolveConditions(const std::vector<std::vector<WhenClause>>& clauses,
                         Parameters& parameters) {
  ParameterIndex index;
  for (size_t i = 0; i < parameters.size(); ++i) index.emplace(parameters[i].name, i);
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (const WhenClause& clause : clauses[i]) {
      TUNE_RETURN_IF_ERROR(ReadClause(clause, index, parameters, i));
    }
  }
  return OkStatus();
}

Result<std::vector<size_t>> OrderByConditions(const Parameters& parameters) {
  std::vector<size_t> order;
  std::vector<bool> is_placed(parameters.size());
  const auto is_ready = [&](const Condition& condition) { return is_placed[condition.parent]; };
  // Always the first that is ready: as a parent is placed, a child before it comes next.
  for (size_t i = 0; i < parameters.size();) {
    const auto& conditions = parameters[i].conditions;
    if (is_placed[i] || !std::all_of(conditions.begin(), conditions.end(), is_ready)) {
      ++i;
      continue;
    }
    is_placed[i] = true;
    order.push_back(i);
    if (order.size() < parameters.size()) {
      i = static_cast<size_t>(std::find(is_placed.begin(), is_placed.end(), false) -
                              is_placed.begin());
    }
  }
  if (order.size() == parameters.size()) return order;
  const auto start =
      static_cast<size_t>(std::find(is_placed.begin(), is_placed.end(), false) - is_placed.begin());
  return CircleError(parameters, is_placed, start);
}

Status CheckContradictions(const Parameters& parameters,
                           const std::vector<size_t>& choosing_order) {
  // For each parameter, what it and all it depends on ask of others.
  std::vector<std::map<size_t, std::vector<Value>>> asked(parameters.size());
  for (const size_t i : choosing_order) {
    for (const Condition& own : parameters[i].conditions) {
      std::map<size_t, std::vector<Value>> all = asked[own.parent];
      // A parent asked twice, by this clause and by another one, has what both want.
      all[own.parent] = own.values;
      for (const auto& [parent, values] : all) {
        const auto [there, is_new] = asked[i].try_emplace(parent, values);
        if (is_new) continue;
        const std::vector<Value> before = there->second;
        std::erase_if(there->second, [&](const Value& value) {
          return std::find(values.begin(), values.end(), value) == values.end();
        });
        if (!there->second.empty()) continue;
        return InvalidAt(parameters[i].place, "when: '" + parameters[i].name +
                                                  "' can never exist: '" + parameters[parent].name +
                                                  "' would have to be both " + ShownList(before) +
                                                  " and " + ShownList(values));
      }
    }
  }
  return OkStatus();
}

}  // namespace tune
