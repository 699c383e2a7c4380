// XXH64 of a file's content.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace tune {

struct FileHash {
  int64_t bytes = 0;
  uint64_t xxh64 = 0;
};

// Nobody may make the file shorter meanwhile.
Result<FileHash> HashFile(const std::string& path);

}  // namespace tune
