#include "trial_runner/command/memory_group.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "trial_runner/worker/oom_kills.h"
#include "trial_runner/worker/process_tree.h"

namespace tune {
namespace {

std::string FileText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool WriteText(const std::string& path, const std::string& text) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::vector<MemoryGroupPlace> MemoryGroupPlaces(std::string_view cgroups) {
  std::vector<MemoryGroupPlace> places;
  std::istringstream lines{std::string(cgroups)};
  for (std::string line; std::getline(lines, line);) {
    // "4:memory:/a/b" in version 1, "0::/a/b" in version 2.
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    const std::string below = path == "/" ? "" : path;
    if (controllers.find(",memory,") != std::string::npos) {
      // In a container the path may be the host's while what is mounted is our own part of it.
      places.push_back({"/sys/fs/cgroup/memory" + below, false});
      if (!below.empty()) places.push_back({"/sys/fs/cgroup/memory", false});
    } else if (line.starts_with("0::")) {
      places.push_back({"/sys/fs/cgroup" + below, true});
    }
  }
  return places;
}

MemoryGroup::MemoryGroup(int64_t bytes, const std::string& name) : bytes_(bytes) {
  for (const MemoryGroupPlace& place : MemoryGroupPlaces(FileText("/proc/self/cgroup"))) {
    if (Make(place, name)) return;
  }
}

bool MemoryGroup::Make(const MemoryGroupPlace& place, const std::string& name) {
  const std::string folder = place.folder + "/" + name;
  if (mkdir(folder.c_str(), 0755) != 0) return false;
  const std::string limit = std::to_string(bytes_);
  const bool is_limited =
      WriteText(folder + (place.is_version_2 ? "/memory.max" : "/memory.limit_in_bytes"), limit);
  // Of memory and swap together; not every system counts that.
  WriteText(folder + (place.is_version_2 ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes"),
            place.is_version_2 ? "0" : limit);
  procs_ = FileDescriptor(open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!is_limited || !procs_.is_open()) {
    procs_.Close();
    rmdir(folder.c_str());
    return false;
  }
  folder_ = folder;
  is_version_2_ = place.is_version_2;
  return true;
}

MemoryGroup::~MemoryGroup() {
  procs_.Close();
  if (folder_.empty()) return;
  // It can be removed once the last process in it is wholly gone, a moment after it was reaped.
  for (int round = 0; round < 100 && rmdir(folder_.c_str()) != 0 && errno == EBUSY; ++round) {
    poll(nullptr, 0, 1);
  }
}

bool MemoryGroup::HasKilled() const {
  if (folder_.empty()) return false;
  const auto kills =
      ReadOomKills({folder_ + (is_version_2_ ? "/memory.events" : "/memory.oom_control")});
  return kills.value_or(0) > 0;
}

int64_t DescendantsBytes() {
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  int64_t bytes = 0;
  for (const pid_t pid : Descendants()) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    int64_t pages = 0;
    int64_t resident_pages = 0;
    if (file >> pages >> resident_pages) bytes += resident_pages * page_bytes;
  }
  return bytes;
}

}  // namespace tune
