// Whether a disk takes what is written to it, and how much.
//
// Thread rule: stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tune {

// Whether the disk under the folder has less than a MiB left, or can hold no more files. False
// where the system does not say; so below.
bool IsDiskFull(const std::string& folder);

// Whether it may only be read, as Linux leaves a file system in which it found errors.
bool IsDiskReadOnly(const std::string& folder);

struct DiskRoom {
  int64_t free_bytes = 0;  // For a user other than root.
  int64_t size_bytes = 0;
};

// Of the disk under the folder; nothing where the system does not say.
std::optional<DiskRoom> FindDiskRoom(const std::string& folder);

}  // namespace tune
