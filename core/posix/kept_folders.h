// Folders of a cache that many processes share, of which only the latest used are kept. Who uses
// one holds it (a shared lock on the folder, folder_lock.h), and what is held is not removed.
//
// Their names are hashes. A person may name any folder as the cache, with folders of those names of
// its own: what has another name is not ours.
//
// When a folder was used last is its time of modification, which holding sets.
//
// Thread rule: any thread.
#pragma once

#include <optional>
#include <string>

#include "core/posix/file_descriptor.h"
#include "core/status.h"

namespace tune {

// Held as long as the descriptor is open. Nothing: it is not there, or is just being removed.
Result<std::optional<FileDescriptor>> HoldFolder(const std::string& path);

// Removes the folder if nobody holds it.
void RemoveUnlessHeld(const std::string& path);

// A SHA-256 or XXH64 in lower hexadecimal digits.
bool IsKeptName(const std::string& name);

// Removes the folders in `parent` that nobody holds, but for the `keep` latest used of all. Those
// with other names are left alone. What cannot be looked at, locked or removed stays.
void RemoveLeastUsedFolders(const std::string& parent, size_t keep);

}  // namespace tune
