// The milestones of successive halving, by integer multiplication: a logarithm of doubles loses
// rungs.
#pragma once

#include <cstdint>
#include <vector>

namespace tune {

// grace_period, grace_period * reduction_factor, ... up to max_t. (1, 243, 3) has six: 1 3 9 27 81
// 243. Requires 1 <= grace_period <= max_t and reduction_factor >= 2.
std::vector<int64_t> RungLevels(int64_t grace_period, int64_t max_t, int64_t reduction_factor);

// max_t, max_t / reduction_factor, ... down to 1 or more, each rounded down; the lowest first. So
// the top rung is always max_t: (20, 2) has 1 2 5 10 20. Requires max_t >= 1 and reduction_factor
// >= 2.
std::vector<int64_t> RungLevelsFromTop(int64_t max_t, int64_t reduction_factor);

}  // namespace tune
