// Bytes packed as gzip (RFC 1952). zlib is known to its .cc file alone.
//
// Thread rule: a pure function.
#pragma once

#include <string>

namespace tune {

// Empty: there is no memory.
std::string Gzip(const std::string& bytes);

}  // namespace tune
