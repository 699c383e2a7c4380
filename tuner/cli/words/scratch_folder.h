// A folder below the system's temporary one, which goes with all that is in it.
//
// Thread rule: one thread.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace tune {

class ScratchFolder {
 public:
  // `prefix`: what its name begins with.
  explicit ScratchFolder(const std::string& prefix) {
    std::error_code error;
    path_ = (std::filesystem::temp_directory_path(error) / (prefix + "XXXXXX")).string();
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }  // Empty: it could not be made.

 private:
  std::string path_;
};

}  // namespace tune
