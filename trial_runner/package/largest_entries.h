// What makes a folder large.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <string>

namespace tune {

// Its `count` largest entries with all that is in them, the largest first, of those that could be
// packed: "data 5.1 GiB, runs 310 MiB". Links are not followed.
std::string DescribeLargest(const std::string& folder, size_t count);

}  // namespace tune
