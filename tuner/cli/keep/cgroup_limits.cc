#include "tuner/cli/keep/cgroup_limits.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>

namespace tune {
namespace {

namespace fs = std::filesystem;

// A limit beyond this is none: version 1 writes the largest number of pages.
constexpr int64_t kNoMemoryLimit = int64_t{1} << 60;

std::string FirstWord(const fs::path& path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

std::optional<int64_t> ReadInt(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void TakeCpus(std::optional<int64_t> quota_us, std::optional<int64_t> period_us,
              CgroupLimits& limits) {
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return;
  const double cpus = static_cast<double>(*quota_us) / static_cast<double>(*period_us);
  limits.cpus = std::min(limits.cpus.value_or(cpus), cpus);
}

void TakeMemory(std::optional<int64_t> bytes, CgroupLimits& limits) {
  if (!bytes || *bytes <= 0 || *bytes >= kNoMemoryLimit) return;
  limits.memory_bytes = std::min(limits.memory_bytes.value_or(*bytes), *bytes);
}

// Version 2: "max 100000" or "200000 100000", and "max" or a number of bytes.
void ReadUnified(const fs::path& group, CgroupLimits& limits) {
  std::ifstream in(group / "cpu.max");
  std::string quota, period;
  if (in >> quota >> period) TakeCpus(ReadInt(quota), ReadInt(period), limits);
  TakeMemory(ReadInt(FirstWord(group / "memory.max")), limits);
}

void ReadCpu(const fs::path& group, CgroupLimits& limits) {
  TakeCpus(ReadInt(FirstWord(group / "cpu.cfs_quota_us")),
           ReadInt(FirstWord(group / "cpu.cfs_period_us")), limits);
}

void ReadMemory(const fs::path& group, CgroupLimits& limits) {
  TakeMemory(ReadInt(FirstWord(group / "memory.limit_in_bytes")), limits);
}

// The group and those above it. A container sees its own group at the top, under a path that is not
// there: its parents that are, count.
void WalkUp(const fs::path& top, const std::string& path,
            const std::function<void(const fs::path&)>& read) {
  fs::path below = fs::path(path).relative_path();
  for (;;) {
    read(top / below);
    if (below.empty()) return;
    below = below.parent_path();
  }
}

bool Holds(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    if (one == name) return true;
    list.remove_prefix(std::min(list.size(), one.size() + 1));
  }
  return false;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& membership, const std::string& root) {
  CgroupLimits limits;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    // "4:memory:/group", "0::/group".
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      const auto read = [&limits](const fs::path& group) { ReadUnified(group, limits); };
      WalkUp(root, path, read);
      WalkUp(fs::path(root) / "unified", path, read);
    }
    if (Holds(controllers, "cpu")) {
      const auto read = [&limits](const fs::path& group) { ReadCpu(group, limits); };
      WalkUp(fs::path(root) / "cpu", path, read);
      WalkUp(fs::path(root) / controllers, path, read);
    }
    if (Holds(controllers, "memory")) {
      WalkUp(fs::path(root) / "memory", path,
             [&limits](const fs::path& group) { ReadMemory(group, limits); });
    }
  }
  return limits;
}

}  // namespace tune
