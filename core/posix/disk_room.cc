#include "core/posix/disk_room.h"

#include <sys/statvfs.h>

#include <cstdint>

namespace tune {

bool IsDiskFull(const std::string& folder) {
  // A file system may refuse a write while some blocks are left.
  constexpr uint64_t kRoomMin = 1u << 20;
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) != 0 || disk.f_blocks == 0) return false;
  const uint64_t left = uint64_t{disk.f_bavail} * disk.f_frsize;
  // Some file systems count no files: both numbers are 0 there.
  return left < kRoomMin || (disk.f_files > 0 && disk.f_favail == 0);
}

bool IsDiskReadOnly(const std::string& folder) {
  struct statvfs disk = {};
  return ::statvfs(folder.c_str(), &disk) == 0 && (disk.f_flag & ST_RDONLY) != 0;
}

std::optional<DiskRoom> FindDiskRoom(const std::string& folder) {
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) != 0 || disk.f_blocks == 0) return std::nullopt;
  return DiskRoom{static_cast<int64_t>(uint64_t{disk.f_bavail} * disk.f_frsize),
                  static_cast<int64_t>(uint64_t{disk.f_blocks} * disk.f_frsize)};
}

}  // namespace tune
