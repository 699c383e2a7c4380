// The words that `search.algorithm` takes; searcher.cc has the table.
//
// Thread rule: a pure function.
#pragma once

#include <string_view>
#include <vector>

namespace tune {

std::vector<std::string_view> SearchAlgorithmNames();

}  // namespace tune
