// Where a program is that a command names.
//
// Thread rule: stateless.
#pragma once

#include <string>

#include "core/status.h"

namespace tune {

// A name with '/' is a path, relative to `folder`; another one is looked for in the folders of
// `path`, which stand with ':' between them. Errors say what is missing and the remedy.
Result<std::string> FindProgram(const std::string& name, const std::string& path,
                                const std::string& folder);

}  // namespace tune
