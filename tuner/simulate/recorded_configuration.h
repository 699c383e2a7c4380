// What somebody recorded as a configuration, as one of the space that is swept.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>

#include "core/configuration.h"
#include "core/status.h"
#include "search/space.h"

namespace tune {

// A value as the parameter would draw it (2 of a uniform domain is 2.0). An error names what was
// read and what the space has, without a place.
Result<Value> AsDrawn(const SpaceParameter& parameter, const Value& value);

// The parameters of the space out of `recorded`, in its order, each as it would be drawn; what the
// space does not have is left out. Errors name the parameter: one that is missing, one whose value
// is not in its domain, a constant of another value, constraints that do not hold.
Result<Configuration> InSpace(const SearchSpace& space, const Configuration& recorded);

}  // namespace tune
