// Folders that belong to one user of a machine alone.
//
// Thread rule: stateless.
#pragma once

#include <string>

#include "core/status.h"

namespace tune {

// Makes the folder with mode 0700, and those above it that are missing as the umask has them. Takes
// the other users' right to read from a folder that is there. kFailedPrecondition: the path is no
// folder, belongs to another user, or others may write into it: what lies there may not be ours.
Status MakePrivateFolder(const std::string& path);

}  // namespace tune
