#include "tuner/cli/keep/removed_checkpoint.h"

#include <filesystem>
#include <string_view>

#include "core/posix/durable_folder.h"
#include "trial_runner/checkpoint_name.h"

namespace tune {

namespace fs = std::filesystem;

Result<std::string> SetCheckpointAside(LocalArtifactStore& store, const std::string& path) {
  const fs::path folder = fs::path(path).lexically_normal();
  const std::string name = folder.filename().string();
  std::error_code error;
  // What a program named itself would be nobody's under the new name.
  const bool is_ours = store.Has(path) && !fs::is_symlink(fs::symlink_status(folder, error)) &&
                       IsOwnCheckpoint(name) && !name.ends_with(kTemporarySuffix);
  if (is_ours) {
    std::string aside = folder.string() + std::string(kTemporarySuffix);
    fs::rename(folder, aside, error);
    if (!error) return aside;
  }
  TUNE_RETURN_IF_ERROR(store.Remove(path));
  return std::string();
}

Status RemoveSetAside(const std::string& aside) {
  const fs::path path(aside);
  RemoveAbandonedFolders(path.parent_path().string(), [&path](std::string_view name) {
    return name == path.filename().string();
  });
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return OkStatus();
  return Unavailable("cannot remove all of " + aside);
}

}  // namespace tune
