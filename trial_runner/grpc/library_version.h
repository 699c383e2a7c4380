// The library at both ends of a connection, for those who report a fault.
//
// Thread rule: pure functions.
#pragma once

#include <string>

namespace tune {

// "gRPC 1.51.1", of the library that is loaded, not of its headers.
std::string GrpcLibraryVersion();

}  // namespace tune
