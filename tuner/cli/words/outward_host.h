// The name by which other machines reach this one.
//
// Thread rule: any thread; asks the operating system, sends nothing.
#pragma once

#include <string>

namespace tune {

// An address or, where none is known, the host's name.
std::string OutwardHost();

}  // namespace tune
