// Finds or fetches the folder in which a sweep's programs run, beside the worker's loop.
//
// A worker that sees the tuner's folder, with the same content, uses that; any other has a copy of
// its own (package/package_store.h).
//
// Thread rule: Begin and the destructor from one thread, which they never keep waiting but for a
// moment. The answer comes from a thread of the fetcher's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/package_source.h"
#include "trial_runner/worker/work_place.h"

namespace tune {

class Interruption;

class PackageFetcher {
 public:
  // `cache`: this user's on this machine; empty: there is none, and nothing can be fetched.
  // `tuner`: no other tuner's; what trials leave here is kept apart by it.
  PackageFetcher(PackageDial dial, std::string cache, std::string tuner);
  ~PackageFetcher();

  using OnFound = std::function<void(const PackageName&, Result<FoundPlace>)>;
  // Once it is known; never, if another Begin or the end comes before. Errors: of this machine, in
  // one line.
  void Begin(const WantedPlace& wanted, OnFound on_found);

 private:
  void End();

  const PackageDial dial_;
  const std::string cache_;
  const std::string tuner_;
  std::unique_ptr<Interruption> interruption_;
  std::vector<FileDescriptor> held_;  // Packages in which trials run, or ran. The thread's.
  std::thread thread_;
};

}  // namespace tune
