#include "trial_runner/worker/checkpoint_cache.h"

#include <algorithm>

namespace tune {

CheckpointCache::Dropped CheckpointCache::Add(const AttemptRef& by, const std::string& path,
                                              const CheckpointCopy& copy) {
  LetGo(by);
  for (auto& [other, entry] : entries_) {
    if (entry.sweep == by.sweep && entry.trial == by.trial) entry.is_wanted = false;
  }
  Dropped dropped = Prune();
  entries_[path] = {copy, by.sweep, by.trial, {}, true};
  return dropped;
}

CheckpointCache::Dropped CheckpointCache::Use(const AttemptRef& by, const std::string& path,
                                              const CheckpointCopy& copy) {
  Dropped dropped;
  const auto [found, is_new] =
      entries_.try_emplace(path, Entry{copy, by.sweep, by.trial, {}, true});
  if (!is_new && found->second.copy != copy) {  // What was here is not what it was.
    if (found->second.copy.folder != copy.folder) dropped.push_back(found->second.copy.folder);
    found->second.copy = copy;
  }
  found->second.users.insert(by);
  return dropped;
}

CheckpointCache::Dropped CheckpointCache::Release(const AttemptRef& by) {
  LetGo(by);
  return Prune();
}

CheckpointCache::Dropped CheckpointCache::Remove(const std::string& path) {
  const auto found = entries_.find(path);
  if (found != entries_.end()) found->second.is_wanted = false;
  return Prune();
}

void CheckpointCache::Forget(ExperimentId sweep) {
  std::erase_if(entries_, [sweep](const auto& item) { return item.second.sweep == sweep; });
}

CheckpointCopy CheckpointCache::Hold(const AttemptRef& by, const std::string& path) {
  const auto found = entries_.find(path);
  if (found == entries_.end()) return {};
  found->second.users.insert(by);
  return found->second.copy;
}

CheckpointCopy CheckpointCache::Find(const std::string& path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? CheckpointCopy() : found->second.copy;
}

std::vector<std::string> CheckpointCache::TakeNext(size_t count) {
  std::vector<std::string> paths;
  auto next = entries_.upper_bound(last_told_);
  for (size_t i = 0; i < std::min(count, entries_.size()); ++i, ++next) {
    if (next == entries_.end()) next = entries_.begin();
    paths.push_back(next->first);
  }
  if (!paths.empty()) last_told_ = paths.back();
  return paths;
}

void CheckpointCache::LetGo(const AttemptRef& by) {
  for (auto& [path, entry] : entries_) entry.users.erase(by);
}

CheckpointCache::Dropped CheckpointCache::Prune() {
  Dropped dropped;
  std::erase_if(entries_, [&dropped](const auto& item) {
    const Entry& entry = item.second;
    if (entry.is_wanted || !entry.users.empty()) return false;
    dropped.push_back(entry.copy.folder);
    return true;
  });
  return dropped;
}

}  // namespace tune
