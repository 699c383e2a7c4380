// Whether a disk has room.
//
// Thread rule: stateless.
#pragma once

#include <string>

namespace tune {

// Whether the disk under the folder has less than a MiB left, or can hold no more files. False
// where the system does not say.
bool IsDiskFull(const std::string& folder);

}  // namespace tune
