// A place where memory is soon short: a memory cgroup (version 1 or 2) of the calling process's own
// with a limit, left and removed at the end. Not every machine lets one be made.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace tune {

class SmallMemory {
 public:
  explicit SmallMemory(int64_t bytes) {
    std::ifstream cgroups("/proc/self/cgroup");
    for (std::string line; std::getline(cgroups, line) && folder_.empty();) {
      const std::string path = line.substr(line.rfind(':') + 1);
      if (line.find(":memory:") != std::string::npos) {
        Enter("/sys/fs/cgroup/memory" + path, "memory.limit_in_bytes", bytes);
      } else if (line.starts_with("0::")) {
        Enter("/sys/fs/cgroup" + path, "memory.max", bytes);
      }
    }
  }
  ~SmallMemory() {
    if (folder_.empty()) return;
    Write(before_ + "/cgroup.procs", std::to_string(getpid()));
    std::error_code ignored;
    std::filesystem::remove(folder_, ignored);
  }
  SmallMemory(const SmallMemory&) = delete;
  SmallMemory& operator=(const SmallMemory&) = delete;

  bool is_there() const { return !folder_.empty(); }

 private:
  static bool Write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    return static_cast<bool>((file << text).flush());
  }
  void Enter(const std::string& parent, const std::string& limit, int64_t bytes) {
    const std::string folder = parent + "/tune_test_" + std::to_string(getpid());
    std::error_code error;
    if (!std::filesystem::create_directory(folder, error)) return;
    if (Write(folder + "/" + limit, std::to_string(bytes)) &&
        Write(folder + "/cgroup.procs", std::to_string(getpid()))) {
      folder_ = folder;
      before_ = parent;
      return;
    }
    std::filesystem::remove(folder, error);
  }

  std::string folder_;
  std::string before_;
};

}  // namespace tune
