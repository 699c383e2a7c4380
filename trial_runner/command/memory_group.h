// A limit of memory for a program and all that it starts.
//
// A memory cgroup of its own where one can be made: version 2 (memory.max) or 1
// (memory.limit_in_bytes, of memory with swap where that is counted); the system then ends the
// program when it has no more to give. Elsewhere the sizes of its processes are looked at from time
// to time (resident memory, what they share counted for each), and the caller ends it.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"

namespace tune {

// Where a memory cgroup of ours may be made, with the names of its files.
struct MemoryGroupPlace {
  std::string folder;  // Of our own cgroup.
  bool is_version_2 = false;
};
// By the text of /proc/self/cgroup; most likely first.
std::vector<MemoryGroupPlace> MemoryGroupPlaces(std::string_view cgroups);

class MemoryGroup {
 public:
  // `bytes`: at least 1. `name`: of the cgroup, unique on the machine.
  MemoryGroup(int64_t bytes, const std::string& name);
  ~MemoryGroup();
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  // Whether the system enforces it; else it is watched.
  bool is_enforced() const { return !folder_.empty(); }
  // Where a process writes "0" to join; -1: it is watched.
  int procs_fd() const { return procs_.get(); }
  // Whether somebody in it was ended by the system for its memory.
  bool HasKilled() const;

  int64_t bytes() const { return bytes_; }

 private:
  bool Make(const MemoryGroupPlace& place, const std::string& name);

  const int64_t bytes_;
  std::string folder_;  // Empty: watched.
  bool is_version_2_ = false;
  FileDescriptor procs_;
};

// Resident bytes of all descendants of this process (process_tree.h) together.
int64_t DescendantsBytes();

}  // namespace tune
