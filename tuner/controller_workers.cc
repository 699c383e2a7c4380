// Workers that come, go, fall silent and come back.
#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/resource_text.h"
#include "tuner/experiment_controller.h"

namespace tune {

Duration ExperimentController::heartbeat() const {
  // Three that are missing are a quarter of the lease: time enough to connect again.
  return Milliseconds(std::min(limits::kHeartbeatMs, lease().us / 1000 / 12));
}

void ExperimentController::On(const WorkerJoined& event) {
  for (const std::string& session : event.ended_sessions) {
    if (session != event.session) EndFormer(session);
  }
  const std::optional<WorkerId> before = workers_.EarlierConnection(event, leases_);
  const bool was_here = workers_.WasHere(event.session);
  out_.workers.push_back(workers_.Add(event, now_).row);

  Welcome welcome;
  welcome.worker = event.worker;
  welcome.experiment = options_.name;
  welcome.metric = options_.spec.metric;
  welcome.mode = options_.spec.mode;
  for (const Objective& objective : options_.spec.more_objectives) {
    welcome.more_metrics.push_back(objective.metric);
  }
  welcome.trainable = ToJson(options_.spec.trainable);
  welcome.base_dir = options_.spec.base_dir;
  welcome.seed = options_.seed;
  welcome.lease_ms = lease().us / 1000;
  welcome.heartbeat_ms = heartbeat().us / 1000;
  welcome.package = package_;
  Send(event.worker, welcome);

  if (before) {
    Rejoin(*before, event);
  } else {
    leases_.AddWorker(event.worker, event.capacity, event.is_local && MayQueue(event.capacity));
    // What it holds has lost its lease meanwhile, or is of a tuner that we know nothing of: then
    // the worker ends it unasked, says nothing of it, and its room could be waited for in vain.
    for (const HeldAttempt& held : event.held) {
      if (was_here) leases_.Occupy(event.worker, held);
      Send(event.worker, KillAttempt{held.ref, true});
    }
  }
  if (has_ended_) Send(event.worker, Shutdown{"", status_ == ExperimentStatus::kInterrupted});
}

// A worker's process ended, seen by another one on its machine: its trials need not wait for the
// end of its lease.
void ExperimentController::EndFormer(const std::string& session) {
  if (session.empty()) return;
  for (const auto& [id, record] : workers_.all()) {
    if (record.is_local || record.session != session || !leases_.HasWorker(id)) continue;
    const std::string name = record.row.name;
    Remove(id, WorkerState::kLost, "the process of worker " + name + " ended");
    out_.actions.push_back(DisconnectWorker{id});
    out_.actions.push_back(Say{"worker " + name + " is lost: its process ended"});
  }
}

void ExperimentController::Rejoin(WorkerId from, const WorkerJoined& event) {
  limits_due_ = kAtOnce;
  WorkerRecord& before = workers_.At(from);
  before.row.state = WorkerState::kLeft;
  before.row.last_seen_at = now_;
  workers_.SetPresent(from);
  out_.workers.push_back(before.row);
  out_.actions.push_back(DisconnectWorker{from});
  out_.actions.push_back(Say{"worker " + event.name + " is back"});

  workers_.CarryOver(from, event.worker);
  const auto carry_over = [&](TrialNumber number) {
    TrialRecord& trial = At(number);
    if (trial.failed_on == from) trial.failed_on = event.worker;
  };
  for (const TrialNumber number : waiting_) carry_over(number);
  for (const auto& backing_off : backing_off_) carry_over(backing_off.second);

  const LeaseTable::Rejoined rejoined =
      leases_.Rejoin(from, event.worker, event.capacity, event.held);
  const auto go_on = [&](const AttemptRef& ref) {
    TrialRecord& trial = At(ref.trial);
    trial.progress_at = now_;  // It could not be heard.
    const bool is_first_rank = trial.lease == ref;
    if (is_first_rank) trial.attempt.worker = event.worker;
    std::replace(trial.attempt.other_workers.begin(), trial.attempt.other_workers.end(), from,
                 event.worker);
    out_.attempts.push_back(trial.attempt);
    if (is_first_rank && trial.is_told_to_end) TellToEnd(event.worker, trial);
    if (trial.are_ranks_told_to_end) Send(event.worker, KillAttempt{ref, true});
  };
  for (const AttemptRef& ref : rejoined.kept) go_on(ref);
  for (const LeaseTable::Lease& lease : rejoined.unsent) {
    SendStart(At(lease.ref.trial), lease);
    go_on(lease.ref);
  }
  for (const AttemptRef& ref : rejoined.lost) {
    EndRank(At(ref.trial), {ref, Outcome::kLost, "worker " + event.name + " does not know it"});
  }
  for (const AttemptRef& ref : rejoined.unknown) Send(event.worker, KillAttempt{ref, true});
}

void ExperimentController::On(const WorkerGone& event) {
  if (!leases_.HasWorker(event.worker)) return;  // It said goodbye before its connection ended.
  const std::string name = WorkerName(event.worker);
  const bool may_come_back = event.how == Departure::kBroken && !end_status_ &&
                             !workers_.At(event.worker).is_local && leases_.HoldsAny(event.worker);
  if (may_come_back) {
    if (leases_.IsAway(event.worker)) return;
    SetAway(event.worker);
    out_.actions.push_back(Say{"the connection to worker " + name +
                               " broke; its trials are waited for, " +
                               FormatDuration(options_.spec.limits.lease)});
    return;
  }
  std::string news;
  switch (event.how) {
    case Departure::kBroken:
      Remove(event.worker, WorkerState::kLost, "the connection to worker " + name + " broke");
      news = " is lost: its connection broke";
      break;
    case Departure::kGoodbye:
      news = event.why.empty() ? " left" : " left: " + event.why;
      Remove(event.worker, WorkerState::kLeft, "worker " + name + news);
      break;
    case Departure::kSilent:
      Remove(event.worker, WorkerState::kLost, "worker " + name + " was silent");
      out_.actions.push_back(DisconnectWorker{event.worker});
      news = " is lost: nothing was heard of it for " + FormatDuration(options_.spec.limits.lease);
      break;
  }
  if (!GivesOut()) return;
  const bool is_last = leases_.Views().empty();
  out_.actions.push_back(Say{"worker " + name + news +
                             (is_last ? "; there is no other, waiting " +
                                            FormatDuration(options_.spec.limits.unplaceable) +
                                            " for one (limits.unplaceable)"
                                      : "")});
}

// A device of the driver's may fall away: then a queue there would take over room that is gone.
// Trials that need devices are too long to gain by it.
bool ExperimentController::MayQueue(const WorkerCapacity& capacity) const {
  return options_.spec.resources.gpu_milli == 0 ||
         std::all_of(capacity.devices.begin(), capacity.devices.end(),
                     [](const Device& device) { return device.uuid.empty(); });
}

// The ends of what ran there come from the worker.
void ExperimentController::On(const DeviceFellAway& event) {
  if (!leases_.HasWorker(event.worker)) return;
  if (!leases_.LoseDevice(event.worker, event.message.device)) return;
  WorkerRecord& record = workers_.At(event.worker);
  std::erase_if(record.row.capacity.devices,
                [&event](const Device& device) { return device.index == event.message.device; });
  record.row.last_seen_at = now_;
  out_.workers.push_back(record.row);
  out_.actions.push_back(Say{"worker " + record.row.name + " lost device " +
                             std::to_string(event.message.device) + ": " + event.message.why +
                             "; what ran there goes on elsewhere"});
}

// A share's part of a device is what it gets unless trials were seen to need more.
void ExperimentController::On(const DeviceMemorySeen& event) {
  const ResourceRequest& asked = options_.spec.resources;
  if (asked.gpu_milli == 0 || asked.gpu_memory_bytes > 0 ||
      !leases_.IsRunning(event.worker, event.message.ref)) {
    return;
  }
  // A little more than was seen, since the next one's sizes may be others; but no more than there
  // is.
  const int64_t bytes = event.message.bytes + event.message.bytes / 16;
  int64_t largest = 0;
  bool is_beyond_share = false;
  for (const WorkerView& view : leases_.Views()) {
    for (const Device& device : view.capacity.devices) {
      largest = std::max(largest, device.memory_bytes);
      is_beyond_share = is_beyond_share || bytes > SliceMemory(Request(), device);
    }
  }
  ResourceRequest next = Request();
  next.learned_gpu_memory_bytes = std::max(learned_gpu_memory_, std::min(bytes, largest));
  // It ran: ranks that could not all be had with so much go on with their shares' parts. A worker
  // that is away may be one of those that are here, started anew.
  if (!leases_.CouldPresentTake(next)) return;
  learned_gpu_memory_ = next.learned_gpu_memory_bytes;
  if (!is_beyond_share || std::exchange(is_learning_said_, true)) return;
  out_.actions.push_back(
      Say{"a trial used " + DescribeMemory(event.message.bytes) +
          " of a device, more than its share: each gets at least so much from now on "
          "(resources.gpu_memory sets it)"});
}

void ExperimentController::SetAway(WorkerId worker) {
  leases_.SetAway(worker);
  workers_.SetAway(worker, now_ + options_.spec.limits.lease);
  WorkerRecord& record = workers_.At(worker);
  record.row.last_seen_at = now_;
  out_.workers.push_back(record.row);
}

// The time of those that did not come back is over.
void ExperimentController::CheckAway() {
  for (const WorkerId worker : std::set<WorkerId>(workers_.away())) {
    const WorkerRecord& record = workers_.At(worker);
    // The end of one's trials may have ended the sweep, and with it the wait for the others.
    if (!record.away_until || now_ < *record.away_until) continue;
    Remove(worker, WorkerState::kLost, "worker " + record.row.name + " did not come back");
    out_.actions.push_back(Say{"worker " + record.row.name + " is lost: it did not come back"});
  }
}

void ExperimentController::Remove(WorkerId worker, WorkerState state, const std::string& why) {
  WorkerRecord& record = workers_.At(worker);
  record.row.state = state;
  record.row.last_seen_at = now_;
  workers_.Remove(worker);
  out_.workers.push_back(record.row);
  const LeaseTable::Lost lost = leases_.RemoveWorker(worker);
  for (const AttemptRef& ref : lost.running) EndRank(At(ref.trial), {ref, Outcome::kLost, why});
  for (const AttemptRef& ref : lost.ahead) DropFromQueue(At(ref.trial));
}

void ExperimentController::Drain(WorkerId worker) {
  if (!leases_.Drain(worker)) return;
  WorkerRecord& record = workers_.At(worker);
  record.row.state = WorkerState::kDraining;
  record.row.last_seen_at = now_;
  out_.workers.push_back(record.row);
}

void ExperimentController::On(const WorkerDrainRequested& event) {
  if (!leases_.HasWorker(event.worker) || leases_.IsAway(event.worker)) return;
  Drain(event.worker);
  Send(event.worker, Shutdown{"tune drain"});
}

bool ExperimentController::HasLocalWorker() const {
  const std::vector<WorkerView> views = leases_.Views();
  return std::any_of(views.begin(), views.end(),
                     [this](const WorkerView& view) { return workers_.At(view.worker).is_local; });
}

std::string ExperimentController::WorkerName(WorkerId worker) const {
  return workers_.NameOf(worker);
}

}  // namespace tune
