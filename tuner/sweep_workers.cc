// What it means for trials that workers come, go and come back, and what workers are told.
#include <algorithm>
#include <utility>
#include <variant>

#include "core/json.h"
#include "core/resource_text.h"
#include "trial_runner/food11_inputs.h"
#include "tuner/sweep.h"

namespace tune {

SweepInfo Sweep::Info() const {
  SweepInfo info;
  info.experiment = options_.name;
  info.metric = options_.spec.metric;
  info.mode = options_.spec.mode;
  for (const Objective& objective : options_.spec.more_objectives) {
    info.more_metrics.push_back(objective.metric);
  }
  info.constrained = options_.spec.constrained_names();
  info.trainable = ToJson(options_.spec.trainable);
  info.base_dir = options_.spec.base_dir;
  info.seed = options_.seed;
  info.package = offered_.package;
  info.is_elsewhere = offered_.is_elsewhere;
  info.data = offered_.data;
  info.bucket = options_.bucket();
  info.has_async_checkpoints = options_.spec.checkpoint.is_async;
  info.lends_credentials = options_.spec.checkpoint.lends_credentials;
  for (const SpaceParameter& parameter : options_.space.parameters()) {
    const bool is_same =
        std::holds_alternative<Value>(parameter.content) && parameter.conditions.empty();
    if (!is_same && IsFood11Path(parameter.name)) info.own_paths.push_back(parameter.name);
  }
  return info;
}

// A device of the driver's may fall away: then a queue there would take over room that is gone.
// Trials that need devices are too long to gain by it.
bool Sweep::MayQueue(const WorkerCapacity& capacity) const {
  return options_.spec.resources.gpu_milli == 0 ||
         std::all_of(capacity.devices.begin(), capacity.devices.end(),
                     [](const Device& device) { return device.uuid.empty(); });
}

// ---- what became of leases

void Sweep::On(const NoticeBooked& event) {
  const Notice& notice = event.notice;
  if (const auto* const lost = std::get_if<LeaseLost>(&notice)) held_.Remove(lost->ref);
  if (const auto* const dropped = std::get_if<LeaseDropped>(&notice)) held_.Remove(dropped->ref);
  if (const auto* const away = std::get_if<WorkerAway>(&notice)) held_.SetAway(away->worker);
  if (const auto* const kept = std::get_if<LeaseKept>(&notice)) held_.Move(kept->lease);
  if (const auto* const unsent = std::get_if<LeaseUnsent>(&notice)) held_.Move(unsent->rank.lease);
}

void Sweep::On(const NoticeHeeded& event) {
  std::visit([this](const auto& notice) { On(notice); }, event.notice);
}

void Sweep::On(const LeaseLost& notice) {
  could_have_whole_ = notice.could_have_whole;
  EndRank(At(notice.ref.trial), {notice.ref, Outcome::kLost, notice.why});
}

void Sweep::On(const LeaseDropped& notice) { DropFromQueue(At(notice.ref.trial)); }

void Sweep::On(const WorkerBack& notice) {
  limits_due_ = kAtOnce;
  silence_due_ = now_;
  const auto carry_over = [&](TrialNumber number) {
    TrialRecord& trial = At(number);
    if (trial.failed_on == notice.from) trial.failed_on = notice.to;
  };
  for (const TrialNumber number : waiting_) carry_over(number);
  for (const auto& backing_off : backing_off_) carry_over(backing_off.second);
}

void Sweep::On(const LeaseKept& notice) {
  const AttemptRef& ref = notice.lease.ref;
  const WorkerId to = notice.lease.placement.worker;
  TrialRecord& trial = At(ref.trial);
  trial.progress_at = now_;  // It could not be heard.
  const bool is_first_rank = trial.lease == ref;
  if (is_first_rank) trial.attempt.worker = to;
  for (auto& [worker, slice] : trial.attempt.devices) {
    if (worker == notice.from) worker = to;
  }
  std::replace(trial.attempt.other_workers.begin(), trial.attempt.other_workers.end(), notice.from,
               to);
  out_.attempts.push_back(trial.attempt);
  if (is_first_rank && trial.is_told_to_end) TellToEnd(to, trial);
  if (trial.ranks_told) Send(to, KillOf(ref, *trial.ranks_told));
}

void Sweep::On(const LeaseUnsent& notice) {
  SendStart(At(notice.rank.lease.ref.trial), notice.rank);
  On(LeaseKept{notice.rank.lease, notice.from});
}

void Sweep::On(const LeaseUnknown& notice) { Send(notice.worker, KillAttempt{notice.ref, true}); }

// ---- devices

// A share's part of a device is what it gets unless trials were seen to need more. A little more
// than was seen, since the next one's sizes may be others; but no more than there is.
std::optional<ResourceRequest> Sweep::LearnedRequest(const DeviceMemorySeen& event,
                                                     int64_t largest_device) const {
  const ResourceRequest& asked = options_.spec.resources;
  if (asked.gpu_milli == 0 || asked.gpu_memory_bytes > 0 ||
      !held_.IsRunning(event.worker, event.message.ref)) {
    return std::nullopt;
  }
  const int64_t bytes = std::min(WithMargin(event.message.bytes), largest_device);
  ResourceRequest next = Request();
  next.learned_gpu_memory_bytes = std::max(learned_gpu_memory_, bytes);
  return next;
}

void Sweep::On(const MemoryLearned& event) {
  learned_gpu_memory_ = event.request.learned_gpu_memory_bytes;
  if (!event.is_beyond_share || std::exchange(is_learning_said_, true)) return;
  out_.actions.push_back(
      Say{"a trial used " + DescribeMemory(event.bytes_seen) +
          " of a device, more than its share: each gets at least so much from now on "
          "(resources.gpu_memory sets it)"});
}

}  // namespace tune
