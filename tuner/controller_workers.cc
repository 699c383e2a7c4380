// Workers that come, go, fall silent and come back.
#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/resource_text.h"
#include "tuner/experiment_controller.h"

namespace tune {
namespace {

// What it says of who holds what.
void Book(const Notice& notice, SweepLeases& held) {
  if (const auto* const lost = std::get_if<LeaseLost>(&notice)) held.Remove(lost->ref);
  if (const auto* const dropped = std::get_if<LeaseDropped>(&notice)) held.Remove(dropped->ref);
  if (const auto* const away = std::get_if<WorkerAway>(&notice)) held.SetAway(away->worker);
  if (const auto* const kept = std::get_if<LeaseKept>(&notice)) held.Move(kept->ref, kept->to);
  if (const auto* const unsent = std::get_if<LeaseUnsent>(&notice)) {
    held.Move(unsent->lease.ref, unsent->lease.placement.worker);
  }
}

}  // namespace

Duration ExperimentController::heartbeat() const {
  // Three that are missing are a quarter of the lease: time enough to connect again.
  return Milliseconds(std::min(limits::kHeartbeatMs, lease().us / 1000 / 12));
}

void ExperimentController::On(const WorkerJoined& event) {
  for (const std::string& session : event.ended_sessions) {
    if (session == event.session) continue;
    while (auto notices = cluster_.EndFormer(session, now_)) Heed(*std::move(notices));
  }
  Heed(cluster_.Join(event, WelcomeMessage(), MayQueue(event.capacity), now_));
  if (has_ended_) Send(event.worker, Shutdown{"", status_ == ExperimentStatus::kInterrupted});
}

Welcome ExperimentController::WelcomeMessage() const {
  Welcome welcome;
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
  return welcome;
}

void ExperimentController::On(const WorkerGone& event) {
  Heed(cluster_.Leave(event, !end_status_, lease(), now_));
}

// A device of the driver's may fall away: then a queue there would take over room that is gone.
// Trials that need devices are too long to gain by it.
bool ExperimentController::MayQueue(const WorkerCapacity& capacity) const {
  return options_.spec.resources.gpu_milli == 0 ||
         std::all_of(capacity.devices.begin(), capacity.devices.end(),
                     [](const Device& device) { return device.uuid.empty(); });
}

void ExperimentController::On(const DeviceFellAway& event) { cluster_.LoseDevice(event, now_); }

// ---- what that means for leases

// Who holds what is booked at once. What follows is done in order: the end of a trial may end the
// sweep, and with it the wait for workers that are away; what that brings is heeded next, before
// what else was told, and never in the middle of another notice.
void ExperimentController::Heed(Notices notices) {
  for (const Notice& notice : notices) Book(notice, held_);
  notices_.insert(notices_.begin(), std::make_move_iterator(notices.begin()),
                  std::make_move_iterator(notices.end()));
  if (std::exchange(is_heeding_, true)) return;
  while (!notices_.empty()) {
    const Notice notice = std::move(notices_.front());
    notices_.pop_front();
    std::visit([this](const auto& n) { On(n); }, notice);
  }
  is_heeding_ = false;
}

void ExperimentController::On(const LeaseLost& notice) {
  EndRank(At(notice.ref.trial), {notice.ref, Outcome::kLost, notice.why});
}

void ExperimentController::On(const LeaseDropped& notice) { DropFromQueue(At(notice.ref.trial)); }

void ExperimentController::On(const WorkerBack& notice) {
  limits_due_ = kAtOnce;
  const auto carry_over = [&](TrialNumber number) {
    TrialRecord& trial = At(number);
    if (trial.failed_on == notice.from) trial.failed_on = notice.to;
  };
  for (const TrialNumber number : waiting_) carry_over(number);
  for (const auto& backing_off : backing_off_) carry_over(backing_off.second);
}

void ExperimentController::On(const LeaseKept& notice) {
  TrialRecord& trial = At(notice.ref.trial);
  trial.progress_at = now_;  // It could not be heard.
  const bool is_first_rank = trial.lease == notice.ref;
  if (is_first_rank) trial.attempt.worker = notice.to;
  std::replace(trial.attempt.other_workers.begin(), trial.attempt.other_workers.end(), notice.from,
               notice.to);
  out_.attempts.push_back(trial.attempt);
  if (is_first_rank && trial.is_told_to_end) TellToEnd(notice.to, trial);
  if (trial.are_ranks_told_to_end) Send(notice.to, KillAttempt{notice.ref, true});
}

void ExperimentController::On(const LeaseUnsent& notice) {
  const AttemptRef& ref = notice.lease.ref;
  SendStart(At(ref.trial), notice.lease);
  On(LeaseKept{ref, notice.from, notice.lease.placement.worker});
}

void ExperimentController::On(const LeaseUnknown& notice) {
  Send(notice.worker, KillAttempt{notice.ref, true});
}

void ExperimentController::On(const WorkerLeft& notice) {
  if (!GivesOut()) return;
  out_.actions.push_back(
      Say{"worker " + notice.name + notice.news +
          (cluster_.IsEmpty() ? "; there is no other, waiting " +
                                    FormatDuration(options_.spec.limits.unplaceable) +
                                    " for one (limits.unplaceable)"
                              : "")});
}

// ---- devices and draining

// A share's part of a device is what it gets unless trials were seen to need more.
void ExperimentController::On(const DeviceMemorySeen& event) {
  const ResourceRequest& asked = options_.spec.resources;
  if (asked.gpu_milli == 0 || asked.gpu_memory_bytes > 0 ||
      !held_.IsRunning(event.worker, event.message.ref)) {
    return;
  }
  // A little more than was seen, since the next one's sizes may be others; but no more than there
  // is.
  const int64_t bytes = event.message.bytes + event.message.bytes / 16;
  int64_t largest = 0;
  bool is_beyond_share = false;
  for (const WorkerView& view : cluster_.leases().Views()) {
    for (const Device& device : view.capacity.devices) {
      largest = std::max(largest, device.memory_bytes);
      is_beyond_share = is_beyond_share || bytes > SliceMemory(Request(), device);
    }
  }
  ResourceRequest next = Request();
  next.learned_gpu_memory_bytes = std::max(learned_gpu_memory_, std::min(bytes, largest));
  // It ran: ranks that could not all be had with so much go on with their shares' parts. A worker
  // that is away may be one of those that are here, started anew.
  if (!cluster_.leases().CouldPresentTake(next)) return;
  learned_gpu_memory_ = next.learned_gpu_memory_bytes;
  if (!is_beyond_share || std::exchange(is_learning_said_, true)) return;
  out_.actions.push_back(
      Say{"a trial used " + DescribeMemory(event.message.bytes) +
          " of a device, more than its share: each gets at least so much from now on "
          "(resources.gpu_memory sets it)"});
}

// One after the other: the end of one's trials may have ended the sweep, and with it the wait for
// the others.
void ExperimentController::CheckAway() {
  while (auto notices = cluster_.EndOverdue(now_)) Heed(*std::move(notices));
}

void ExperimentController::On(const WorkerDrainRequested& event) {
  const LeaseTable& leases = cluster_.leases();
  if (!leases.HasWorker(event.worker) || leases.IsAway(event.worker)) return;
  cluster_.Drain(event.worker, now_);
  Send(event.worker, Shutdown{"tune drain"});
}

bool ExperimentController::HasLocalWorker() const {
  const std::vector<WorkerView> views = cluster_.leases().Views();
  return std::any_of(views.begin(), views.end(), [this](const WorkerView& view) {
    return cluster_.workers().At(view.worker).is_local;
  });
}

std::string ExperimentController::WorkerName(WorkerId worker) const {
  return cluster_.workers().NameOf(worker);
}

}  // namespace tune
