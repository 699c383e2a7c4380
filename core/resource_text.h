// Amounts of resources as people write them, for messages.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace tune {

std::string DescribeShare(int64_t milli);   // "0.5", "2".
std::string DescribeMemory(int64_t bytes);  // "24 GiB", "1.5 GiB", "300 bytes".

}  // namespace tune
