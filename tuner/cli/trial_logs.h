// The files with what a trial's attempts printed.
//
// Thread rule: stateless.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

namespace tune {

// By attempt; those of a trial's folder on this machine. Empty where there is none.
std::map<int64_t, std::filesystem::path> FindLogs(const std::filesystem::path& folder);

}  // namespace tune
