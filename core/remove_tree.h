// Removes a file, or a folder with all that is in it, also where its owner may not change folders
// in it: Go's module cache is made so, and copies of read-only data are.
//
// Thread rule: any thread.
#pragma once

#include <filesystem>
#include <system_error>

namespace tune {

// As std::filesystem::remove_all: what is not there is no error, and of a link the link goes.
void RemoveTree(const std::filesystem::path& path, std::error_code& error);

}  // namespace tune
