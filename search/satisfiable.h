// Whether a space has any configuration that its constraints allow: found out before a sweep
// starts.
//
// Thread rule: pure functions.
#pragma once

#include "core/status.h"
#include "search/space.h"

namespace tune {

// Where the parameters that constraints look at can be counted and have at most
// limits::kLeadingCombinationsMax combinations, all of them are looked at, and the answer is exact.
// Otherwise the ends and middles of the domains and many draws: an error then says what was tried.
// It is at a constraint that never holds, else at the first one.
Status CheckSatisfiable(const SearchSpace& space);

// Likewise, with values that are settled.
bool IsSatisfiable(const SearchSpace& space, const GivenValues& given);

}  // namespace tune
