#include "tuner/artifact_store.h"

#include <filesystem>

#include "core/remove_tree.h"

namespace tune {

namespace fs = std::filesystem;

Status LocalArtifactStore::Remove(const std::string& path) {
  const std::string normal = fs::path(path).lexically_normal().string();
  if (!IsWithin(normal)) {
    return Internal("refused to remove " + path + ": it is outside of " + root_);
  }
  std::error_code error;
  RemoveTree(normal, error);
  if (error == std::errc::no_such_file_or_directory) return OkStatus();  // tune gc was first.
  if (error) return Unavailable("cannot remove " + path + ": " + error.message());
  return OkStatus();
}

bool LocalArtifactStore::Has(const std::string& path) const {
  const std::string normal = fs::path(path).lexically_normal().string();
  std::error_code ignored;
  return IsWithin(normal) && fs::is_directory(normal, ignored);
}

}  // namespace tune
