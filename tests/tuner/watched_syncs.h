// Which files a test's code syncs, in which order: what a loss of power leaves depends on it. This
// header defines the system's own calls anew, so one source of a program includes it.
//
// Thread rule: one thread.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace tune {

// While it lives, each file or folder that is synced is noted; one at a time.
class WatchedSyncs {
 public:
  WatchedSyncs() { living_ = this; }
  ~WatchedSyncs() { living_ = nullptr; }
  WatchedSyncs(const WatchedSyncs&) = delete;
  WatchedSyncs& operator=(const WatchedSyncs&) = delete;

  const std::vector<std::string>& paths() const { return paths_; }
  // The names without their folders; of the writer's lock's also whether it names a step then.
  const std::vector<std::string>& names() const { return names_; }

  static void Note(int fd) {
    if (living_ == nullptr) return;
    char target[4096];
    const ssize_t size =
        readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
    const std::string path(target, size < 0 ? 0 : static_cast<size_t>(size));
    std::string name = path.substr(path.rfind('/') + 1);
    if (name.ends_with(".lock")) {
      char text[4096];
      const ssize_t length = pread(fd, text, sizeof text, 0);
      const std::string read(text, length < 0 ? 0 : static_cast<size_t>(length));
      if (read.find("\ncommitted ") != std::string::npos) name += " with a step";
    }
    living_->names_.push_back(std::move(name));
    living_->paths_.push_back(path);
  }

 private:
  static inline WatchedSyncs* living_ = nullptr;
  std::vector<std::string> paths_, names_;
};

}  // namespace tune

// In place of the C library's.
extern "C" {
int fsync(int fd) {
  tune::WatchedSyncs::Note(fd);
  return static_cast<int>(syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  tune::WatchedSyncs::Note(fd);
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}
}
