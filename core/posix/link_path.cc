#include "core/posix/link_path.h"

#include <filesystem>
#include <system_error>

namespace tune {

namespace fs = std::filesystem;

std::string FollowLinks(const std::string& path) {
  constexpr int kLinksMax = 40;  // As many as Linux follows.
  std::error_code error;
  fs::path file = fs::absolute(path, error);
  if (error) return path;
  const fs::path given = file.lexically_normal();
  for (int links = 0; links <= kLinksMax; ++links) {
    const fs::path folder = fs::canonical(file.parent_path(), error);
    if (error) return path;
    file = folder / file.filename();
    if (!fs::is_symlink(fs::symlink_status(file, error))) {
      file = file.lexically_normal();
      return file == given ? path : file.string();
    }
    file = folder / fs::read_symlink(file, error);
    if (error) return path;
  }
  return path;
}

}  // namespace tune
