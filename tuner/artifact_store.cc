#include "tuner/artifact_store.h"

#include <filesystem>

namespace tune {

Status LocalArtifactStore::Remove(const std::string& path) {
  namespace fs = std::filesystem;
  const std::string normal = fs::path(path).lexically_normal().string();
  if (!normal.starts_with(root_ + "/")) {
    return Internal("refused to remove " + path + ": it is outside of " + root_);
  }
  std::error_code error;
  fs::remove_all(normal, error);
  if (error) return Unavailable("cannot remove " + path + ": " + error.message());
  return OkStatus();
}

}  // namespace tune
