#include "trial_runner/worker/process_tree.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/posix/read_bytes.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

std::optional<pid_t> ReadPid(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return pid;
}

// Whole: each process of the machine and its parent. Where the kernel does not list children.
std::vector<pid_t> DescendantsByScan(const std::set<pid_t>& spared) {
  std::vector<std::pair<pid_t, pid_t>> parents;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::optional<pid_t> pid = ReadPid(it->path().filename().string());
    if (!pid) continue;
    if (const std::optional<pid_t> parent = LivingParentOf(*pid))
      parents.emplace_back(*pid, *parent);
  }
  std::vector<pid_t> found = {getpid()};
  for (size_t i = 0; i < found.size(); ++i) {
    for (const auto& [pid, parent] : parents) {
      if (parent == found[i] && !spared.contains(pid)) found.push_back(pid);
    }
  }
  found.erase(found.begin());
  return found;
}

// Of all its threads; nothing where the kernel does not say.
std::optional<std::vector<pid_t>> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code error;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  bool is_known = false;
  for (fs::directory_iterator it(tasks, error), end; !error && it != end; it.increment(error)) {
    std::ifstream file(it->path() / "children");
    is_known = is_known || file.is_open();
    for (pid_t child; file >> child;) children.push_back(child);
  }
  if (!is_known) return std::nullopt;
  return children;
}

// Of our children that have ended.
void TakeLeave(const std::set<pid_t>& spared) {
  for (const pid_t child : ChildrenOf(getpid()).value_or(std::vector<pid_t>())) {
    if (!spared.contains(child)) waitpid(child, nullptr, WNOHANG);
  }
  while (spared.empty() && waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

std::optional<pid_t> LivingParentOf(pid_t pid) {
  // "123 (a name) S 45 ...": the parent, and whether the process still runs.
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || line.size() < name_end + 5) return std::nullopt;
  const char state = line[name_end + 2];
  if (state == 'Z' || state == 'X') return std::nullopt;
  const size_t begin = name_end + 4;
  return ReadPid(std::string_view(line).substr(begin, line.find(' ', begin) - begin));
}

bool AdoptOrphans() { return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0; }

std::vector<pid_t> Descendants(const std::set<pid_t>& spared) {
  std::vector<pid_t> found = {getpid()};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto children = ChildrenOf(found[i]);
    if (!children && i == 0) return DescendantsByScan(spared);
    if (!children) continue;
    for (const pid_t child : *children) {
      if (!spared.contains(child) && LivingParentOf(child)) found.push_back(child);
    }
  }
  found.erase(found.begin());
  return found;
}

std::optional<pid_t> NearestAbove(pid_t pid, const std::set<pid_t>& candidates) {
  constexpr int kDepthMax = 1'000;  // Numbers can be given anew while we climb.
  std::optional<pid_t> at = pid;
  for (int i = 0; i < kDepthMax && at && *at > 1; ++i) {
    if (candidates.contains(*at)) return at;
    at = LivingParentOf(*at);
  }
  return std::nullopt;
}

std::string CommandLineOf(pid_t pid) {
  std::string words = ReadBytes("/proc/" + std::to_string(pid) + "/cmdline");
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

void SignalDescendants(int signal) {
  for (const pid_t pid : Descendants()) kill(pid, signal);
}

bool EndDescendantsOnce(const std::set<pid_t>& spared) {
  const std::vector<pid_t> living = Descendants(spared);
  // The kernel may leave one out that starts another just then: nobody is there where two looks
  // find nobody.
  const bool is_nobody_left = living.empty() && Descendants(spared).empty();
  for (const pid_t pid : living) kill(pid, SIGKILL);
  // Children of theirs come to us once they are gone.
  TakeLeave(spared);
  return is_nobody_left;
}

bool EndDescendants(const std::set<pid_t>& spared) {
  constexpr int kRoundsMax = 2000;  // Ten seconds: on a busy machine a killed process dies late.
  constexpr int kPauseMs = 5;
  for (int round = 0; round < kRoundsMax; ++round) {
    if (EndDescendantsOnce(spared)) return true;
    poll(nullptr, 0, round == 0 ? 1 : kPauseMs);
  }
  return false;
}

std::optional<int> ReapEnded(pid_t pid) {
  std::optional<int> found;
  int status = 0;
  for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == pid) found = status;
  }
  return found;
}

}  // namespace tune
