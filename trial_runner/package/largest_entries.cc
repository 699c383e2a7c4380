#include "trial_runner/package/largest_entries.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/resource_text.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

uintmax_t BytesOf(const fs::directory_entry& entry) {
  std::error_code error;
  if (entry.is_symlink(error)) return 0;
  if (entry.is_regular_file(error)) {
    const uintmax_t bytes = entry.file_size(error);
    return error ? 0 : bytes;
  }
  uintmax_t sum = 0;
  if (!entry.is_directory(error)) return sum;
  for (fs::directory_iterator it(entry.path(), error), end; !error && it != end;
       it.increment(error)) {
    sum += BytesOf(*it);
  }
  return sum;
}

}  // namespace

std::string DescribeLargest(const std::string& folder, size_t count) {
  std::vector<std::pair<uintmax_t, std::string>> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == ".git" || name.ends_with(".artifacts")) continue;
    entries.emplace_back(BytesOf(*it), name);
  }
  std::sort(entries.rbegin(), entries.rend());
  std::string text;
  for (size_t i = 0; i < std::min(count, entries.size()); ++i) {
    text += (text.empty() ? "" : ", ") + entries[i].second + " " +
            DescribeMemory(static_cast<int64_t>(entries[i].first));
  }
  return text;
}

}  // namespace tune
