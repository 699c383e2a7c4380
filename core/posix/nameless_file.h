// A file without a name, gone with its last descriptor.
//
// Thread rule: stateless.
#pragma once

#include <string>

#include "core/posix/file_descriptor.h"
#include "core/status.h"

namespace tune {

// On the folder's file system, to be read and written; also where a file cannot be made so (NFS).
Result<FileDescriptor> OpenNamelessFile(const std::string& folder);

}  // namespace tune
