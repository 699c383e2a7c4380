#include "tuner/simulate/recorded_configuration.h"

#include <cmath>
#include <utility>

#include "core/input_error.h"
#include "core/overloaded.h"

namespace tune {
namespace {

// 2 and 2.0 are one number, written by different programs.
std::optional<Value> OtherKind(const Value& value) {
  if (value.is_int()) return Value(static_cast<double>(value.AsInt()));
  constexpr double kExactMax = 9e15;
  if (!value.is_double() || !(std::abs(value.AsDouble()) < kExactMax)) return std::nullopt;
  if (value.AsDouble() != std::floor(value.AsDouble())) return std::nullopt;
  return Value(static_cast<int64_t>(value.AsDouble()));
}

std::optional<Value> Drawn(const Domain& domain, const Value& value) {
  const std::optional<UnitCell> cell = domain.ToUnit(value);
  if (!cell) return std::nullopt;
  if (domain.is_discrete()) return domain.FromUnit(cell->mid());
  return Value(value.AsDouble());
}

}  // namespace

Result<Value> AsDrawn(const SpaceParameter& parameter, const Value& value) {
  const std::optional<Value> other = OtherKind(value);
  if (const auto* const constant = std::get_if<Value>(&parameter.content)) {
    if (value == *constant || (other && *other == *constant)) return *constant;
    return InvalidArgument(parameter.name + ": read " + Shown(value) + ", but the space has " +
                           Shown(*constant));
  }
  const Domain& domain = std::get<Domain>(parameter.content);
  if (auto drawn = Drawn(domain, value)) return *std::move(drawn);
  if (other) {
    if (auto drawn = Drawn(domain, *other)) return *std::move(drawn);
  }
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
