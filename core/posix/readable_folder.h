// Whether this user may read what is there.
//
// Thread rule: pure but for the file system.
#pragma once

#include <string>

#include "core/status.h"

namespace tune {

// kPermissionDenied: this user may not read the folder, or something that lies directly in it,
// which may be whole all the same. What is not there is no error.
Status CheckMayBeRead(const std::string& folder);

}  // namespace tune
