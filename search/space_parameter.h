// One parameter of a search space, and the condition under which it exists (space.h).
//
// Thread rule: values.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "core/value.h"
#include "search/domain.h"

namespace tune {

// Holds where the parameter `parent` exists and has one of `values` (the domain's own ones, so that
// == compares them).
struct Condition {
  size_t parent = 0;
  std::vector<Value> values;

  bool Holds(const Value& value) const;
};

struct SpaceParameter {
  std::string name;                     // Flat: "optimizer/lr".
  std::variant<Value, Domain> content;  // A constant, or where to draw from.
  Place place;
  std::vector<Condition> conditions = {};  // It exists where all hold.
};

}  // namespace tune
