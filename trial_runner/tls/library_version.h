// The library behind keys and certificates, for those who report a fault.
//
// Thread rule: pure functions.
#pragma once

#include <string>

namespace tune {

// "OpenSSL 3.0.19", of the library that is loaded, not of its headers.
std::string OpensslLibraryVersion();

}  // namespace tune
