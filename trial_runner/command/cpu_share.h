// CPUs of a trial's own, so that trials beside each other, of any worker and any sweep of this
// user, do not share one while another is free.
//
// Each CPU is a name in Linux's abstract socket namespace that one process at a time can have; it
// is free again when its holder has ended, however it ended.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/posix/file_descriptor.h"

namespace tune {

class CpuShare {
 public:
  // Takes `count` of the CPUs that this process may run on. Where so many are not free, or it would
  // be all of them, none are taken: the trial runs wherever the system puts it.
  static CpuShare Take(int64_t count);

  // Empty: none were taken.
  const std::vector<int64_t>& cpus() const { return cpus_; }

 private:
  std::vector<int64_t> cpus_;
  std::vector<FileDescriptor> names_;
};

}  // namespace tune
