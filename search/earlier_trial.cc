#include "search/earlier_trial.h"

#include <optional>
#include <string>

#include "core/input_error.h"

namespace tune {

Result<Configuration> FitToSpace(const Configuration& configuration, const SearchSpace& space) {
  Configuration fitted;
  for (const SpaceParameter& parameter : space.parameters()) {
    const Value* const value = configuration.Find(parameter.name);
    if (value == nullptr) continue;
    const auto* const constant = std::get_if<Value>(&parameter.content);
    const std::optional<Value> own = constant == nullptr
                                         ? std::get<Domain>(parameter.content).OwnValue(*value)
                                     : IsSameValue(*constant, *value) ? std::optional(*constant)
                                                                      : std::nullopt;
    if (!own) {
      return InvalidArgument(
          "'" + parameter.name + "' was " + Shown(*value) + ", now it is " +
          (constant == nullptr ? std::get<Domain>(parameter.content).ToText() : Shown(*constant)));
    }
    fitted.Set(parameter.name, *own);
  }
  for (const auto& [name, value] : configuration.parameters()) {
    if (fitted.Find(name) == nullptr) {
      return InvalidArgument("it has '" + name + "', which this space does not");
    }
  }
  for (size_t i = 0; i < space.parameters().size(); ++i) {
    const std::string& name = space.parameters()[i].name;
    const bool is_there = fitted.Find(name) != nullptr;
    if (is_there == space.IsActive(i, fitted)) continue;
    return InvalidArgument(
        "'" + name + "' " +
        (is_there ? "does not exist beside its other values" : "is not part of it"));
  }
  if (space.Allows(fitted)) return fitted;
  return InvalidArgument("it does not keep to the constraints");
}

Result<Configuration> ShareOfSpace(const Configuration& configuration, const SearchSpace& space) {
  Configuration share;
  for (const SpaceParameter& parameter : space.parameters()) {
    const Value* const value = configuration.Find(parameter.name);
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    if (value == nullptr || domain == nullptr) continue;
    const std::optional<Value> own = domain->OwnValue(*value);
    if (!own) {
      return InvalidArgument("'" + parameter.name + "' was " + Shown(*value) + ", now it is " +
                             domain->ToText());
    }
    share.Set(parameter.name, *own);
  }
  if (!share.parameters().empty()) return share;
  return InvalidArgument("it has none of this space's parameters");
}

}  // namespace tune
