// The configurations that a spec wants tried first (`points`), whole or partial: maps from
// parameters to values, nested as the space is or with flat names ("optimizer.lr", "optimizer/lr").
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "core/configuration.h"
#include "core/status.h"
#include "core/value.h"
#include "search/space.h"

namespace tune {

// `points`: a list, null for none. The values become the domains' own. Errors carry "line:column:
// ": an unknown name (nearest named), a value that is not in its domain or not the constant, a
// parameter that does not exist beside the other values or whose condition looks at one that is not
// named, a constraint that is not satisfied or cannot be whatever the rest is.
Result<std::vector<Configuration>> ReadPoints(const Value& points, const SearchSpace& space);

// The guesses of a space (search/belief.h) as one point: those that can exist side by side. Nothing
// where there are none. An error at the first of them where the constraints allow no configuration
// that has them all.
Result<std::optional<Configuration>> GuessesOf(const SearchSpace& space);

// The values of a configuration of this space, by parameter.
GivenValues GivenBy(const Configuration& configuration, const SearchSpace& space);

}  // namespace tune
