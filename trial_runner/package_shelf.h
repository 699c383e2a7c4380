// The packages that workers of other machines may fetch from a tuner, by their content: sweeps that
// were begun from the same folder share one.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "trial_runner/package_source.h"

namespace tune {

class PackageShelf {
 public:
  // Each Add is taken back by a Drop.
  void Add(std::shared_ptr<const PackageSource> package);
  // Whoever fetches it still has it.
  void Drop(const PackageName& name);
  // Null: there is no such package.
  std::shared_ptr<const PackageSource> Find(const PackageName& name);

 private:
  struct Entry {
    std::shared_ptr<const PackageSource> package;
    int64_t user_count = 0;
  };

  std::mutex mutex_;
  std::map<std::string, Entry> by_hash_;
};

}  // namespace tune
