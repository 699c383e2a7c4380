// Locks on folders (flock(2)), which end with the descriptor and the process.
//
// Thread rule: any thread.
#pragma once

#include <sys/file.h>

#include <string>

#include "core/posix/file_descriptor.h"

namespace tune {

// Not open: errno says why. A link is none.
FileDescriptor OpenFolder(const std::string& path);

enum class FolderLock { kOurs, kTheirs, kUnknown };

// `how`: LOCK_EX or LOCK_SH; nothing is waited for. kUnknown: the file system has no such locks.
FolderLock LockFolder(const FileDescriptor& folder, int how);

// Whether that path still means this folder.
bool IsFolderAt(const FileDescriptor& folder, const std::string& path);

}  // namespace tune
