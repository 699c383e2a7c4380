// A disk that is soon full: a tmpfs in a folder of the test's, in a mount namespace of this
// process's own, so that it is gone with it. Mounting needs rights that not every machine gives.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "core/check.h"

namespace tune {

class SmallDisk {
 public:
  // The folder is made if it is not there.
  SmallDisk(std::string folder, int64_t bytes) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    is_mounted_ = unshare(CLONE_NEWNS) == 0 &&
                  mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                  mount("small", folder_.c_str(), "tmpfs", 0, SizeOption(bytes).c_str()) == 0;
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

  void Resize(int64_t bytes) const { Remount(0, SizeOption(bytes)); }
  // Files and folders that it can hold, its own top among them.
  void LimitNames(int64_t count) const { Remount(0, "nr_inodes=" + std::to_string(count)); }
  void Protect() const { Remount(MS_RDONLY, ""); }
  void Unprotect() const { Remount(0, ""); }

  // Takes all the room that is left with a file of this name.
  void Fill(const std::string& name) const {
    std::ofstream file(folder_ + "/" + name, std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }

 private:
  static std::string SizeOption(int64_t bytes) { return "size=" + std::to_string(bytes); }
  void Remount(unsigned long flags, const std::string& options) const {
    TUNE_CHECK(mount("small", folder_.c_str(), "tmpfs", MS_REMOUNT | flags, options.c_str()) == 0);
  }

  const std::string folder_;
  bool is_mounted_ = false;
  std::string why_not_;
};

}  // namespace tune
