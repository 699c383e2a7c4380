#include "trial_runner/package_shelf.h"

#include <utility>

#include "core/check.h"

namespace tune {

void PackageShelf::Add(std::shared_ptr<const PackageSource> package) {
  const std::lock_guard lock(mutex_);
  Entry& entry = by_hash_[package->name().sha256];
  ++entry.user_count;
  entry.package = std::move(package);
}

void PackageShelf::Drop(const PackageName& name) {
  const std::lock_guard lock(mutex_);
  const auto found = by_hash_.find(name.sha256);
  TUNE_CHECK(found != by_hash_.end());
  if (--found->second.user_count == 0) by_hash_.erase(found);
}

std::shared_ptr<const PackageSource> PackageShelf::Find(const PackageName& name) {
  const std::lock_guard lock(mutex_);
  const auto found = by_hash_.find(name.sha256);
  if (found == by_hash_.end() || found->second.package->name() != name) return nullptr;
  return found->second.package;
}

}  // namespace tune
