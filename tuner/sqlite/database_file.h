// A database's file: whether it is one of ours, where it lies, and how SQLite is to open it. All of
// it can be asked before anything is opened or made.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"
#include "tuner/sqlite/database.h"

namespace tune {

// By its header. Any file is safe to ask about, also one that is open, or SQLite's beside it.
bool IsTuneDatabase(const std::string& path);

// The checks of Database::Open that come before anything is opened for good or made. kNotFound:
// missing or empty, unless kCreate may make it.
Status CheckDatabaseFile(const std::string& path, Access access);

// The name of a network file system where WAL cannot work ("NFS"), by the number of statfs(2);
// nullptr for others.
const char* NetworkFileSystemName(int64_t statfs_type);
// The same of the place where the file is, or will be, whatever links lead there.
const char* NetworkFileSystemAt(const std::string& path);
Status RefusedNetwork(const std::string& path, const char* name);

std::string WalOf(const std::string& path);
// An empty one holds nothing: it was just begun, or a full disk was in the way.
bool HasContents(const std::string& path);

// A URI, so that '?' and '#' in a path mean themselves.
std::string FileUri(const std::string& path, std::string_view query);

}  // namespace tune
