// Files whose contents survive a loss of power once the call has returned: written, synced, and
// only then named.
//
// Thread rule: stateless; two threads must not write one path at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/posix/file_descriptor.h"
#include "core/status.h"

namespace tune {

// kNotFound when there is none, kInvalidArgument beyond `bytes_max` and for what is no file or may
// not be read, kDataLoss when the disk cannot give it back.
Result<std::string> ReadFile(const std::string& path, uint64_t bytes_max);

// Creates or replaces the file's contents and syncs it.
Status WriteFileSynced(const std::string& path, std::string_view text);

// The same, but there is always the old file or the whole new one: it is written beside it first,
// as `path`.part or, where somebody else's file has that name, as `path`.part-2, .part-3, ...
Status ReplaceFileSynced(const std::string& path, std::string_view text);

// Creates or replaces `to` with the contents of the regular file `from`, without going through our
// memory where the file system can, holes as holes; and syncs it, or leaves that to the caller. A
// program stays one that may be run.
Status CopyFile(const std::string& from, const std::string& to, bool is_synced);

// The folder and those above it that are missing; the names of those made here are durable.
Status MakeFolderSynced(const std::string& path);

// Makes the renames and creations inside the folder durable.
Status SyncFolder(const std::string& folder);

// Renames within one file system and syncs the target's folder.
Status RenameSynced(const std::string& from, const std::string& to);

// The last error of a system call on `path` as a Status. kResourceExhausted: the disk or a quota is
// full, and nothing else.
Status ErrnoStatus(std::string_view doing, const std::string& path);

// All of it, in spite of short writes and signals.
Status WriteAll(int fd, std::span<const std::byte> bytes, const std::string& path);

}  // namespace tune
