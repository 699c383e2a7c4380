// The words that `scheduler` takes; trial_scheduler.cc has the table.
//
// Thread rule: pure functions.
#pragma once

#include <string_view>
#include <vector>

namespace tune {

std::vector<std::string_view> SchedulerNames();

// Whether what it compares trials at is called a rung; median_stopping and its like have checks.
bool HasRungs(std::string_view scheduler);

}  // namespace tune
