// What `tune --version` says: the version, and what of it differs from machine to machine.
//
// Thread rule: stateless.
#pragma once

#include <string>

namespace tune {

// "tune 0.1.0" in its first line; below it lines of build, features and libraries. `program_dir`:
// where tune and its programs are.
std::string VersionText(const std::string& program_dir);

}  // namespace tune
