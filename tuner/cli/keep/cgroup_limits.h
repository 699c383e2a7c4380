// What a container or a batch system allows this process, of both versions of control groups (and
// of a hybrid of them): the lowest limit of its group and those above it.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tune {

struct CgroupLimits {
  std::optional<double> cpus;  // Quota over period.
  std::optional<int64_t> memory_bytes;
};

// `membership` is the text of /proc/self/cgroup, `root` is /sys/fs/cgroup.
CgroupLimits ReadCgroupLimits(const std::string& membership, const std::string& root);

}  // namespace tune
