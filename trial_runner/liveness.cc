#include "trial_runner/liveness.h"

#include <algorithm>

namespace tune {

void Liveness::OnHeard(WorkerId worker, Instant now) {
  const auto [entry, is_new] = workers_.try_emplace(worker, Entry{now, now + heartbeat_});
  if (!is_new) entry->second.heard_at = std::max(entry->second.heard_at, now);
}

std::optional<Instant> Liveness::HeardAt(WorkerId worker) const {
  const auto entry = workers_.find(worker);
  return entry == workers_.end() ? std::nullopt : std::optional(entry->second.heard_at);
}

void Liveness::Excuse(Duration duration) {
  for (auto& [worker, entry] : workers_) entry.heard_at = entry.heard_at + duration;
}

std::vector<WorkerId> Liveness::TakeSilent(Instant now) {
  std::vector<WorkerId> silent;
  for (const auto& [worker, entry] : workers_) {
    if (now >= entry.heard_at + lease_) silent.push_back(worker);
  }
  for (const WorkerId worker : silent) workers_.erase(worker);
  return silent;
}

std::vector<WorkerId> Liveness::TakeDue(Instant now) {
  std::vector<WorkerId> due;
  for (auto& [worker, entry] : workers_) {
    if (now < entry.beat_at) continue;
    due.push_back(worker);
    entry.beat_at = now + heartbeat_;
  }
  return due;
}

std::optional<Instant> Liveness::NextDeadline() const {
  std::optional<Instant> next;
  for (const auto& [worker, entry] : workers_) {
    const Instant first = std::min(entry.beat_at, entry.heard_at + lease_);
    if (!next || first < *next) next = first;
  }
  return next;
}

std::optional<Instant> Liveness::NextHeartbeat() const {
  std::optional<Instant> next;
  for (const auto& [worker, entry] : workers_) {
    if (!next || entry.beat_at < *next) next = entry.beat_at;
  }
  return next;
}

}  // namespace tune
