// Who runs this process.
#pragma once

#include <string>

namespace tune {

// As the system's user database names them; the number, where it does not. Thread rule: one thread.
std::string UserName();

}  // namespace tune
