#include "tuner/worker_book.h"

#include <algorithm>

#include "core/check.h"

namespace tune {

const WorkerRecord& WorkerBook::Add(const WorkerJoined& event, Instant now) {
  TUNE_CHECK(!workers_.contains(event.worker));
  const WorkerRow row{event.worker, event.name, event.address,  event.capacity, WorkerState::kAlive,
                      now,          now,        event.is_local, event.session};
  return workers_[event.worker] = WorkerRecord{row, std::nullopt, event.rank_address};
}

void WorkerBook::Restore(const WorkerRow& row) {
  workers_[row.worker] = WorkerRecord{row, std::nullopt, {}, row.state == WorkerState::kDraining};
  if (row.failed_starts > 0 && !row.has_reported) unproven_.insert(row.worker);
}

std::string WorkerBook::NameOf(WorkerId worker) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? std::string() : found->second.row.name;
}

bool WorkerBook::WasHere(const std::string& session) const {
  return !session.empty() && std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return entry.second.row.session == session;
  });
}

bool WorkerBook::WasAskedToLeave(const std::string& session) const {
  return !session.empty() && std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return entry.second.is_asked_to_leave && entry.second.row.session == session;
  });
}

std::optional<WorkerId> WorkerBook::EarlierConnection(const WorkerJoined& event,
                                                      const LeaseTable& leases) const {
  if (event.is_local || event.session.empty()) return std::nullopt;
  for (auto it = workers_.rbegin(); it != workers_.rend(); ++it) {
    const WorkerRow& row = it->second.row;
    if (!row.is_local && row.session == event.session && leases.HasWorker(row.worker)) {
      return it->first;
    }
  }
  return std::nullopt;
}

void WorkerBook::SetAway(WorkerId worker, Instant until) {
  At(worker).away_until = until;
  away_.insert(worker);
}

void WorkerBook::SetPresent(WorkerId worker) {
  At(worker).away_until.reset();
  away_.erase(worker);
}

void WorkerBook::PutOffReturns(Duration by) {
  for (const WorkerId worker : away_) {
    WorkerRecord& record = At(worker);
    record.away_until = *record.away_until + by;
  }
}

bool WorkerBook::NoteReport(WorkerId worker) {
  WorkerRow& row = At(worker).row;
  if (row.has_reported && row.failed_starts == 0) return false;
  row.has_reported = true;
  row.failed_starts = 0;
  unproven_.erase(worker);
  return true;
}

bool WorkerBook::NoteFailedStart(WorkerId worker) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return false;
  WorkerRow& row = found->second.row;
  ++row.failed_starts;
  if (!row.has_reported) unproven_.insert(worker);
  return true;
}

void WorkerBook::CarryOver(WorkerId from, WorkerId to) {
  const WorkerRow& before = At(from).row;
  WorkerRow& back = At(to).row;
  back.has_reported = before.has_reported;
  back.failed_starts = before.failed_starts;
  back.is_shunning_said = before.is_shunning_said;
  if (unproven_.erase(from) > 0) unproven_.insert(to);
}

void WorkerBook::Remove(WorkerId worker) {
  SetPresent(worker);
  unproven_.erase(worker);
}

}  // namespace tune
