// As this machine calls itself.
//
// Thread rule: any thread.
#pragma once

#include <string>

namespace tune {

std::string HostName();  // Empty: it has no name.

}  // namespace tune
