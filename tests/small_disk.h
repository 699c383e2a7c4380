// A disk that is soon full: a tmpfs of its own in a folder of the test's. Mounting needs rights
// that not every machine gives.
#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "core/check.h"

namespace tune {

class SmallDisk {
 public:
  // `folder` is there and empty.
  SmallDisk(std::string folder, int64_t bytes) : folder_(std::move(folder)) {
    const std::string size = "size=" + std::to_string(bytes);
    is_mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, size.c_str()) == 0;
    if (!is_mounted_) why_not_ = std::string("no small disk: mount: ") + std::strerror(errno);
  }
  ~SmallDisk() {
    if (is_mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_mounted() const { return is_mounted_; }
  // For GTEST_SKIP.
  const std::string& why_not() const { return why_not_; }

  void Grow(int64_t bytes) const {
    const std::string size = "size=" + std::to_string(bytes);
    TUNE_CHECK(mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, size.c_str()) == 0);
  }

  // Takes all the room that is left with a file of this name.
  void Fill(const std::string& name) const {
    std::ofstream file(folder_ + "/" + name, std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }

 private:
  const std::string folder_;
  bool is_mounted_ = false;
  std::string why_not_;
};

}  // namespace tune
