// The system's temporary folder, and a folder below it, which goes with all that is in it.
//
// Thread rule: one thread.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace tune {

// What TMPDIR names, or /tmp where that is no folder: a terminal outlives the job that made its
// TMPDIR.
inline std::filesystem::path TemporaryFolderPath() {
  std::error_code error;
  std::filesystem::path path = std::filesystem::temp_directory_path(error);
  return error ? std::filesystem::path("/tmp") : path;
}

class ScratchFolder {
 public:
  // `prefix`: what its name begins with.
  explicit ScratchFolder(const std::string& prefix) {
    path_ = (TemporaryFolderPath() / (prefix + "XXXXXX")).string();
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
