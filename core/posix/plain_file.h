// Files and folders that need not survive a loss of power (durable_file.h has those that must).
//
// Thread rule: stateless; two threads must not write one path at once.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace tune {

// The folder and those above it that are missing. Errors: ErrnoStatus.
Status MakeFolder(const std::string& path);

// Creates or replaces the file's contents. Errors: ErrnoStatus.
Status WriteFile(const std::string& path, std::string_view text);

}  // namespace tune
