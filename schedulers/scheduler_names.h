// The words that `scheduler` takes; trial_scheduler.cc has the table.
//
// Thread rule: a pure function.
#pragma once

#include <string_view>
#include <vector>

namespace tune {

std::vector<std::string_view> SchedulerNames();

}  // namespace tune
