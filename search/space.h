// The search space: parameters in the order of the file, each a domain or a constant.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/configuration.h"
#include "core/random.h"
#include "core/status.h"
#include "core/value.h"
#include "search/domain.h"

namespace tune {

struct SpaceParameter {
  std::string name;                     // Flat: "optimizer/lr".
  std::variant<Value, Domain> content;  // A constant, or where to draw from.
  Place place;
};

class SearchSpace {
 public:
  // `space`: the spec's `space` map (null: empty). Errors carry "line:column: ": unknown domain
  // (nearest named), wrong count or type of arguments, lo >= hi, log range at or below 0, empty
  // choice, q that does not divide, a name with
  // '/', a feature that is not there yet (`when`) by name.
  static Result<SearchSpace> Parse(const Value& space);

  const std::vector<SpaceParameter>& parameters() const { return parameters_; }

  // A configuration of this space, its parameters in the order of the file: constants, and what
  // `choose` gives for each domain that exists in it (those that a condition looks at are chosen
  // before it). The argument is the parameter's index.
  template <typename Choose>  // Value(size_t parameter)
  Configuration Assemble(Choose choose) const;
  // Whether it keeps to the constraints.
  bool Allows(const Configuration& configuration) const;

 private:
  std::vector<SpaceParameter> parameters_;
};

template <typename Choose>
Configuration SearchSpace::Assemble(Choose choose) const {
  Configuration configuration;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto* const constant = std::get_if<Value>(&parameters_[i].content);
    configuration.Set(parameters_[i].name, constant != nullptr ? *constant : choose(i));
  }
  return configuration;
}

}  // namespace tune
