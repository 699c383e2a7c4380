#include "core/remove_tree.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

// What belongs to others stays as it is.
void LetOwnerChange(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(fs::symlink_status(path, ignored))) return;
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, ignored);
}

}  // namespace

void RemoveTree(const std::filesystem::path& path, std::error_code& error) {
  fs::remove_all(path, error);
  if (error != std::errc::permission_denied) return;
  LetOwnerChange(path);
  std::error_code unread;
  const auto skips = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator it(path, skips, unread);
  for (const fs::recursive_directory_iterator end; !unread && it != end; it.increment(unread)) {
    LetOwnerChange(it->path());  // Before it is entered.
  }
  fs::remove_all(path, error);
}

}  // namespace tune
