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

 private:
  std::vector<SpaceParameter> parameters_;
};

}  // namespace tune
