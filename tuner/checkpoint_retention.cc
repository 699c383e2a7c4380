#include "tuner/checkpoint_retention.h"

#include <algorithm>
#include <tuple>

namespace tune {

CheckpointRetention::CheckpointRetention(const CheckpointPolicy& policy, Mode mode)
    : policy_(policy), mode_(mode) {}

// Ties go to the earlier trial, then the earlier iteration.
bool CheckpointRetention::IsBetterEntry(const Entry& a, const Entry& b) const {
  if (a.value != b.value) return IsBetter(*a.value, *b.value, mode_);
  return std::tie(a.trial, a.iteration) < std::tie(b.trial, b.iteration);
}

bool CheckpointRetention::IsAmongBest(const Entry& entry) const {
  return std::any_of(best_.begin(), best_.end(), [&](const Entry& other) {
    return other.trial == entry.trial && other.iteration == entry.iteration;
  });
}

std::vector<CheckpointRetention::Entry> CheckpointRetention::Add(const Entry& entry) {
  std::vector<Entry>& own = kept_[entry.trial];
  std::erase_if(own, [&](const Entry& e) { return e.iteration == entry.iteration; });
  std::erase_if(best_, [&](const Entry& e) {
    return e.trial == entry.trial && e.iteration == entry.iteration;
  });
  own.push_back(entry);

  std::vector<Entry> affected;
  if (entry.value) {
    best_.push_back(entry);
    std::sort(best_.begin(), best_.end(),
              [this](const Entry& a, const Entry& b) { return IsBetterEntry(a, b); });
    while (static_cast<int64_t>(best_.size()) > policy_.keep_best) {
      affected.push_back(best_.back());
      best_.pop_back();
    }
  }

  // What fell off the best list may go if it is not among its trial's latest, and so may the
  // trial's own older ones.
  std::vector<Entry> removed;
  const auto prune = [&](TrialNumber trial) {
    std::vector<Entry>& entries = kept_[trial];
    const int64_t older = static_cast<int64_t>(entries.size()) - policy_.keep;
    std::vector<Entry> staying;
    for (int64_t i = 0; i < static_cast<int64_t>(entries.size()); ++i) {
      const Entry& candidate = entries[static_cast<size_t>(i)];
      if (i < older && !IsAmongBest(candidate)) {
        removed.push_back(candidate);
      } else {
        staying.push_back(candidate);
      }
    }
    entries = std::move(staying);
  };
  prune(entry.trial);
  for (const Entry& fallen : affected) {
    if (fallen.trial != entry.trial) prune(fallen.trial);
  }
  return removed;
}

const CheckpointRetention::Entry* CheckpointRetention::Nearest(TrialNumber trial,
                                                               int64_t iteration) const {
  const auto found = kept_.find(trial);
  if (found == kept_.end() || found->second.empty()) return nullptr;
  for (const Entry& entry : found->second) {
    if (entry.iteration == iteration) return &entry;
  }
  return &found->second.back();
}

}  // namespace tune
