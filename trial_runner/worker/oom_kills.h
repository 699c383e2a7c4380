// Whether a process that died of SIGKILL was ended by the system because memory was short. The
// signal does not say; the system counts such kills, and the count is compared before and after.
//
// The nearest count is taken: of our memory cgroup, version 2 (memory.events) or 1
// (memory.oom_control), which is our trials' too, else of the whole machine (/proc/vmstat).
//
// Thread rule: values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace tune {

// The number behind "oom_kill" in a file of one of the three kinds; nothing if it has none.
std::optional<int64_t> ParseOomKills(std::string_view text);

// Where our count may be, nearest first, by the text of /proc/self/cgroup.
std::vector<std::string> OomKillFiles(std::string_view cgroups);

// Those of this process.
std::vector<std::string> FindOomKillFiles();

// Reads the first of the files that has a count. Nothing: this system does not count.
std::optional<int64_t> ReadOomKills(const std::vector<std::string>& files);

// Which deaths the kills explain. A kill that nobody died of soon was of another's process.
class OomKillBook {
 public:
  // The count as it is now; the first one is where we begin.
  void Saw(int64_t total, Instant now);
  // Takes one of the kills of the last seconds as the cause of a death; false: there is none.
  bool Claim(Instant now);

 private:
  std::optional<int64_t> total_;
  std::vector<Instant> unclaimed_;  // When they were seen; oldest first.
};

}  // namespace tune
