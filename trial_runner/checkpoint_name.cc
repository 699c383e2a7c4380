#include "trial_runner/checkpoint_name.h"

#include <algorithm>
#include <string>
#include <system_error>

namespace tune {
namespace {

constexpr std::string_view kUnfinished = ".tmp";

// Takes them off the front; how many there were.
size_t TakeDigits(std::string_view& text) {
  const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count;
}

}  // namespace

bool IsOwnCheckpoint(std::string_view name) {
  constexpr std::string_view kPrefix = "checkpoint_";
  constexpr size_t kDigitsMin = 6;
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  if (TakeDigits(name) < kDigitsMin) return false;
  if (name.ends_with(kUnfinished)) name.remove_suffix(kUnfinished.size());
  for (const char mark : {'.', '-'}) {
    if (!name.starts_with(mark)) continue;
    name.remove_prefix(1);
    if (TakeDigits(name) == 0) return false;
  }
  return name.empty();
}

bool IsOwnCheckpointAt(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  std::error_code error;
  if (!IsOwnCheckpoint(name)) return false;
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(path, error))) return false;
  return name.ends_with(kUnfinished) || std::filesystem::exists(path / "manifest.json", error);
}

}  // namespace tune
