#include "tuner/simulate/recorded_configuration.h"

#include <optional>
#include <utility>

#include "core/input_error.h"

namespace tune {

Result<Value> AsDrawn(const SpaceParameter& parameter, const Value& value) {
  if (const auto* const constant = std::get_if<Value>(&parameter.content)) {
    if (IsSameValue(*constant, value)) return *constant;
    return InvalidArgument(parameter.name + ": read " + Shown(value) + ", but the space has " +
                           Shown(*constant));
  }
  const Domain& domain = std::get<Domain>(parameter.content);
  if (std::optional<Value> own = domain.OwnValue(value)) return *std::move(own);
  return InvalidArgument(parameter.name + ": read " + Shown(value) + ", which the space's " +
                         std::string(domain.name()) + " does not give");
}

Result<Configuration> InSpace(const SearchSpace& space, const Configuration& recorded) {
  Status problem = OkStatus();
  const auto& parameters = space.parameters();
  Configuration configuration = space.Assemble([&](size_t i) {
    const Value* const value = recorded.Find(parameters[i].name);
    if (value == nullptr) {
      if (problem.ok()) problem = InvalidArgument(parameters[i].name + ": has no value");
      return Value();
    }
    Result<Value> drawn = AsDrawn(parameters[i], *value);
    if (!drawn.ok() && problem.ok()) problem = drawn.status();
    return drawn.ok() ? *std::move(drawn) : *value;
  });
  if (!problem.ok()) return problem;
  for (const SpaceParameter& parameter : parameters) {
    const Value* const value = recorded.Find(parameter.name);
    if (value == nullptr || !std::holds_alternative<Value>(parameter.content)) continue;
    TUNE_RETURN_IF_ERROR(AsDrawn(parameter, *value).status());
  }
  if (!space.Allows(configuration)) {
    return InvalidArgument("the configuration does not keep to the space's constraints");
  }
  return configuration;
}

}  // namespace tune
