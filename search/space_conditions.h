// From the `when` of a space file to conditions between parameters.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "search/space_parameter.h"

namespace tune {

// One `when` as it was read.
struct WhenClause {
  Value when;         // {other: value or list of values}
  std::string scope;  // The map around what it stands beside: "optimizer/", "" at the top.
};

// Sets the conditions of each parameter from its clauses. Errors carry "line:column: ".
Status ResolveConditions(const std::vector<std::vector<WhenClause>>& clauses,
                         std::vector<SpaceParameter>& parameters);

// The parameters' indices, parents before children, otherwise as they are; an error names a circle.
Result<std::vector<size_t>> OrderByConditions(const std::vector<SpaceParameter>& parameters);

// An error for a parameter that can never exist: the conditions on it and on what it depends on ask
// another one for different values.
Status CheckContradictions(const std::vector<SpaceParameter>& parameters,
                           const std::vector<size_t>& choosing_order);

}  // namespace tune
