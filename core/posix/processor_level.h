// Programs of packages, which are built once for all machines: those whose kernels gain by a newer
// processor are there more than once, "food11" for any, "x86-64-v3/food11" (AVX2) and
// "x86-64-v4/food11" (AVX-512) for the levels of the x86-64 psABI.
//
// Thread rule: stateless.
#pragma once

#include <string>
#include <vector>

namespace tune {

// Those that this processor has, the highest first; none below x86-64-v3.
std::vector<std::string> ProcessorLevels();

// The path of the program for the first of `levels` that is there, else folder/name.
std::string ProgramForProcessor(const std::string& folder, const std::string& name,
                                const std::vector<std::string>& levels = ProcessorLevels());

}  // namespace tune
