// What a file that may go away holds: one of /proc, or of somebody else.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tune {

// As far as it can be read, from `offset` on; empty where it cannot. An std::istreambuf_iterator
// throws where a process of /proc ends between opening and reading, and for a folder.
std::string ReadBytes(const std::string& path, int64_t offset = 0);

}  // namespace tune
