#include "trial_runner/worker/oom_kills.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace tune {
namespace {

constexpr Duration kClaimableFor = Seconds(5);
constexpr int64_t kClaimableMax = 1000;
constexpr std::string_view kCount = "oom_kill ";
constexpr char kMachine[] = "/proc/vmstat";

// Takes the first line off the text.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool HasController(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::optional<int64_t> ParseOomKills(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    if (!line.starts_with(kCount)) continue;
    line.remove_prefix(kCount.size());
    int64_t count = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), count);
    if (error == std::errc() && end == line.data() + line.size()) return count;
  }
  return std::nullopt;
}

std::vector<std::string> OomKillFiles(std::string_view cgroups) {
  std::vector<std::string> files;
  // "4:memory:/a/b" in version 1, "0::/a/b" in version 2. In a container the path may be the
  // host's while what is mounted is our own part of it.
  while (!cgroups.empty()) {
    const std::string_view line = TakeLine(cgroups);
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    const std::string below = path == "/" ? "" : path;
    if (HasController(controllers, "memory")) {
      for (const std::string& folder : {below, std::string()}) {
        files.push_back("/sys/fs/cgroup/memory" + folder + "/memory.oom_control");
      }
    } else if (line.starts_with("0::")) {
      for (const std::string& folder : {below, std::string()}) {
        files.push_back("/sys/fs/cgroup" + folder + "/memory.events");
      }
    }
  }
  files.push_back(kMachine);
  return files;
}

std::vector<std::string> FindOomKillFiles() {
  std::ostringstream cgroups;
  cgroups << std::ifstream("/proc/self/cgroup").rdbuf();
  return OomKillFiles(cgroups.str());
}

std::optional<int64_t> ReadOomKills(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    if (const auto count = ParseOomKills(text.str())) return count;
  }
  return std::nullopt;
}

void OomKillBook::Saw(int64_t total, Instant now) {
  const int64_t added = total_ ? std::clamp<int64_t>(total - *total_, 0, kClaimableMax) : 0;
  total_ = total;
  std::erase_if(unclaimed_, [now](Instant seen) { return seen + kClaimableFor < now; });
  unclaimed_.insert(unclaimed_.end(), static_cast<size_t>(added), now);
}

bool OomKillBook::Claim(Instant now) {
  std::erase_if(unclaimed_, [now](Instant seen) { return seen + kClaimableFor < now; });
  if (unclaimed_.empty()) return false;
  unclaimed_.erase(unclaimed_.begin());
  return true;
}

}  // namespace tune
