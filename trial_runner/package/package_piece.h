// A piece of a package that lies in a file.
//
// Thread rule: any thread, several at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/status.h"

namespace tune {

// As PackageSource::Read, of the first `bytes` of the file.
Result<std::string> ReadPackagePiece(int fd, int64_t bytes, int64_t offset, size_t bytes_max);

}  // namespace tune
