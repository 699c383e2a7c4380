#include "trial_runner/worker/left_behind.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/posix/file_descriptor.h"
#include "core/posix/read_bytes.h"
#include "trial_runner/worker/process_tree.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

bool IsOfTrialBelow(const std::string& process, const std::string& folder) {
  const std::string text = ReadBytes(process + "/environ");
  const std::string dir = "TUNE_DIR=" + folder + "/";
  bool has_dir = false;
  bool has_socket = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view variable = rest.substr(0, rest.find('\0'));
    has_dir = has_dir || variable.starts_with(dir);
    has_socket = has_socket || variable.starts_with("TUNE_SOCKET=");
    rest.remove_prefix(std::min(rest.size(), variable.size() + 1));
  }
  return has_dir && has_socket;
}

// Of this user.
std::vector<pid_t> ProcessesOfTrialsBelow(const std::string& folder) {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string path = it->path().string();
    const std::string name = it->path().filename().string();
    pid_t pid = 0;
    const auto [last, parse_error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parse_error != std::errc() || last != name.data() + name.size()) continue;
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0 || info.st_uid != geteuid()) continue;
    if (IsOfTrialBelow(path, folder)) found.push_back(pid);
  }
  return found;
}

enum class Above { kNothingOfOurs, kProcessOfOurs, kUnknown };

// Unknown: a process above it ended while we looked.
Above WhatIsAbove(pid_t pid) {
  constexpr int kDepthMax = 1'000;  // Numbers can be given anew while we climb.
  for (int i = 0; i < kDepthMax; ++i) {
    const std::optional<pid_t> parent = LivingParentOf(pid);
    if (!parent) return Above::kUnknown;
    if (*parent <= 0) return Above::kNothingOfOurs;
    std::ifstream file("/proc/" + std::to_string(*parent) + "/comm");
    std::string name;
    std::getline(file, name);
    if (name == "tune_worker" || name.starts_with("tune_trial")) return Above::kProcessOfOurs;
    pid = *parent;
  }
  return Above::kUnknown;
}

// False: it ended meanwhile, and another may have its number.
bool End(pid_t pid, const std::string& folder) {
  const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.is_open() || !IsOfTrialBelow("/proc/" + std::to_string(pid), folder)) return false;
  return syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0;
}

}  // namespace

std::vector<std::string> EndLeftBehind(const std::string& folder) {
  constexpr int kRoundsMax = 1'000;  // About five seconds.
  constexpr int kPauseMs = 5;
  std::vector<std::string> ended;
  if (IsOfTrialBelow("/proc/self", folder)) return ended;
  std::map<pid_t, std::string> known;
  for (int round = 0; round < kRoundsMax; ++round) {
    bool is_over = true;
    for (const pid_t pid : ProcessesOfTrialsBelow(folder)) {
      const Above above = WhatIsAbove(pid);
      if (above == Above::kProcessOfOurs) continue;
      const bool is_alive = LivingParentOf(pid).has_value();
      if (!is_alive) continue;
      is_over = false;
      if (above == Above::kUnknown) continue;
      std::string text = std::to_string(pid) + " (" + CommandLineOf(pid) + ")";
      if (End(pid, folder)) known.emplace(pid, std::move(text));
    }
    if (is_over) break;
    poll(nullptr, 0, kPauseMs);
  }
  ended.reserve(known.size());
  for (auto& [pid, text] : known) ended.push_back(std::move(text));
  return ended;
}

}  // namespace tune
