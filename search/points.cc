#include "search/points.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/nearest_name.h"
#include "search/satisfiable.h"

namespace tune {
namespace {

// One point as it is read.
class PointReader {
 public:
  explicit PointReader(const SearchSpace& space)
      : space_(space), values_(space.parameters().size()), places_(space.parameters().size()) {}

  Result<Configuration> Read(const Value& point) {
    if (!point.is_map()) {
      return InvalidAt(point.place, "points: read " + Shown(point) +
                                        ", expected a map from parameters to values");
    }
    TUNE_RETURN_IF_ERROR(ReadMap(point, ""));
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i]) TUNE_RETURN_IF_ERROR(CheckExists(i, places_[i]));
    }
    Configuration configuration;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i]) configuration.Set(space_.parameters()[i].name, *values_[i]);
    }
    TUNE_RETURN_IF_ERROR(CheckAllowed(configuration, point.place));
    return configuration;
  }

 private:
  std::optional<size_t> Find(const std::string& name) const {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (space_.parameters()[i].name == name) return i;
    }
    return std::nullopt;
  }

  Status ReadMap(const Value& map, const std::string& prefix) {
    for (const MapEntry& entry : map.AsMap()) {
      std::string name = prefix + entry.key;
      std::optional<size_t> found = Find(name);
      if (!found) {
        std::replace(name.begin(), name.end(), '.', '/');
        found = Find(name);
      }
      if (found) {
        TUNE_RETURN_IF_ERROR(ReadValue(*found, entry));
      } else if (entry.value.is_map() && IsGroup(name + "/")) {
        TUNE_RETURN_IF_ERROR(ReadMap(entry.value, name + "/"));
      } else {
        return Unknown(entry, name);
      }
    }
    return OkStatus();
  }

  bool IsGroup(const std::string& prefix) const {
    return std::any_of(
        space_.parameters().begin(), space_.parameters().end(),
        [&](const SpaceParameter& parameter) { return parameter.name.starts_with(prefix); });
  }

  Status Unknown(const MapEntry& entry, const std::string& name) const {
    std::vector<std::string_view> known;
    for (const SpaceParameter& parameter : space_.parameters()) known.push_back(parameter.name);
    return InvalidAt(entry.key_place,
                     "points: there is no parameter '" + name + "'" + DidYouMean(name, known));
  }

  Status ReadValue(size_t i, const MapEntry& entry) {
    const SpaceParameter& parameter = space_.parameters()[i];
    if (values_[i]) {
      return InvalidAt(entry.key_place, "points: '" + parameter.name + "' is named twice");
    }
    places_[i] = entry.key_place;
    if (const auto* const constant = std::get_if<Value>(&parameter.content)) {
      if (!IsSameValue(*constant, entry.value)) {
        return InvalidAt(entry.value.place, "points: '" + parameter.name + "' is always " +
                                                Shown(*constant) + ", read " + Shown(entry.value));
      }
      values_[i] = *constant;
      return OkStatus();
    }
    const Domain& domain = std::get<Domain>(parameter.content);
    values_[i] = domain.OwnValue(entry.value);
    if (values_[i]) return OkStatus();
    return InvalidAt(entry.value.place, "points: '" + parameter.name + "': read " +
                                            Shown(entry.value) + ", which is not in its domain, " +
                                            domain.ToText());
  }

  // That the conditions of parameter `i` hold: by what is named, or by constants. `place`: of the
  // named one that needs it.
  Status CheckExists(size_t i, const Place& place) const {
    for (const Condition& condition : space_.parameters()[i].conditions) {
      const SpaceParameter& parent = space_.parameters()[condition.parent];
      const bool is_named = values_[condition.parent].has_value();
      const Value* const value =
          is_named ? &*values_[condition.parent] : std::get_if<Value>(&parent.content);
      const std::string needs = "points: '" + space_.parameters()[i].name +
                                "' exists only where '" + parent.name + "' is " +
                                ShownList(condition.values);
      if (value == nullptr) return InvalidAt(place, needs + "; name that too");
      if (!condition.Holds(*value)) {
        return InvalidAt(place, needs + "; here it is " + Shown(*value));
      }
      if (!is_named) TUNE_RETURN_IF_ERROR(CheckExists(condition.parent, place));
    }
    return OkStatus();
  }

  Status CheckAllowed(const Configuration& configuration, const Place& place) const {
    for (const Constraint& constraint : space_.constraints()) {
      const auto& named = constraint.parameters();
      const bool is_whole =
          std::all_of(named.begin(), named.end(), [&](size_t i) { return values_[i].has_value(); });
      if (!is_whole || constraint.IsSatisfied(configuration)) continue;
      return InvalidAt(place, "points: '" + constraint.text() + "' is not satisfied");
    }
    if (IsSatisfiable(space_, values_)) return OkStatus();
    return InvalidAt(place, "points: with these values the constraints cannot be satisfied");
  }

  const SearchSpace& space_;
  GivenValues values_;
  std::vector<Place> places_;
};

}  // namespace

Result<std::vector<Configuration>> ReadPoints(const Value& points, const SearchSpace& space) {
  std::vector<Configuration> read;
  if (points.is_null()) return read;
  if (!points.is_list()) {
    return InvalidAt(points.place, "points: read " + Shown(points) +
                                       ", expected a list of configurations such as [{lr: 0.1}]");
  }
  if (points.AsList().size() > limits::kPointsMax) {
    return InvalidAt(points.place, "points: read " + std::to_string(points.AsList().size()) +
                                       " of them, expected at most " +
                                       std::to_string(limits::kPointsMax));
  }
  for (const Value& point : points.AsList()) {
    TUNE_ASSIGN_OR_RETURN(Configuration configuration, PointReader(space).Read(point));
    read.push_back(std::move(configuration));
  }
  return read;
}

Result<std::optional<Configuration>> GuessesOf(const SearchSpace& space) {
  const auto& parameters = space.parameters();
  GivenValues values(parameters.size());
  const auto holds = [&](const Condition& condition) {
    const auto* const constant = std::get_if<Value>(&parameters[condition.parent].content);
    if (constant != nullptr) return condition.Holds(*constant);
    return values[condition.parent] && condition.Holds(*values[condition.parent]);
  };
  const SpaceParameter* first = nullptr;
  for (const size_t i : space.choosing_order()) {
    const auto* const domain = std::get_if<Domain>(&parameters[i].content);
    if (domain == nullptr || !domain->guess()) continue;
    const auto& conditions = parameters[i].conditions;
    if (!std::all_of(conditions.begin(), conditions.end(), holds)) continue;
    values[i] = domain->guess();
    if (first == nullptr) first = &parameters[i];
  }
  if (first == nullptr) return std::optional<Configuration>();
  Configuration configuration;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) configuration.Set(parameters[i].name, *values[i]);
  }
  if (IsSatisfiable(space, values)) return std::optional(std::move(configuration));
  return InvalidAt(first->place,
                   "guess: the constraints allow no configuration that has the guesses " +
                       ToJson(configuration.ToNested()) +
                       "; leave one out, or loosen the constraints");
}

GivenValues GivenBy(const Configuration& configuration, const SearchSpace& space) {
  GivenValues given;
  for (const SpaceParameter& parameter : space.parameters()) {
    const Value* const value = configuration.Find(parameter.name);
    given.push_back(value == nullptr ? std::nullopt : std::optional(*value));
  }
  return given;
}

}  // namespace tune
