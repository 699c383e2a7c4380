#include "tuner/cli/trial_logs.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace tune {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> AttemptOf(std::string_view name) {
  constexpr std::string_view kPrefix = "attempt_";
  constexpr std::string_view kSuffix = ".log";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

std::map<int64_t, fs::path> FindLogs(const fs::path& folder) {
  std::map<int64_t, fs::path> logs;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (const auto attempt = AttemptOf(it->path().filename().string())) {
      logs[*attempt] = it->path();
    }
  }
  return logs;
}

}  // namespace tune
