#include "tuner/effectless.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tune {
namespace {

// What a batch holds before an event may give its lease to a worker, or begin it: the end of
// another one on that worker, or its return.
using Moved = std::set<WorkerId>;

const TrialRecord* TrialOf(const AttemptRef& ref, const Controller& controller) {
  const auto open = controller.sweeps().find(ref.sweep);
  if (open == controller.sweeps().end()) return nullptr;
  const auto& trials = open->second.sweep.trials();
  const bool is_there =
      ref.trial.value >= 0 && ref.trial.value < static_cast<int64_t>(trials.size());
  return is_there ? &trials[static_cast<size_t>(ref.trial.value)] : nullptr;
}

bool MayBeAlive(WorkerId worker, const AttemptRef& ref, const Controller& controller,
                const Moved& moved) {
  const LeaseTable& leases = controller.cluster().leases();
  if (!leases.HasWorker(worker) || moved.contains(worker)) return true;
  return leases.IsRunning(worker, ref);
}

AttemptRef Unmarked(AttemptRef ref) {
  ref.sweep = {};
  return ref;
}

// Nothing: it has an effect.
std::optional<ReportAnswer> AnswerTo(const ReportArrived& event, const Controller& controller,
                                     const Moved& moved) {
  const AttemptReport& message = event.message;
  if (!MayBeAlive(event.worker, message.ref, controller, moved)) return ReportAnswer::kRefused;
  const TrialRecord* const trial = TrialOf(message.ref, controller);
  const bool comes_again = trial != nullptr && trial->lease == Unmarked(message.ref) &&
                           controller.cluster().leases().IsRunning(event.worker, message.ref) &&
                           message.sequence <= trial->last_sequence;
  return comes_again ? std::optional(trial->last_answer) : std::nullopt;
}

bool HasDevice(WorkerId worker, int64_t device, const Controller& controller) {
  const auto record = controller.cluster().workers().all().find(worker);
  if (record == controller.cluster().workers().all().end()) return true;  // It is not known yet.
  const std::vector<Device>& devices = record->second.row.capacity.devices;
  return std::any_of(devices.begin(), devices.end(),
                     [device](const Device& one) { return one.index == device; });
}

bool IsStray(const AttemptFinished& event, const Controller& controller, const Moved& moved) {
  const auto record = controller.cluster().workers().all().find(event.worker);
  if (record == controller.cluster().workers().all().end() || record->second.row.is_local)
    return false;
  return !MayBeAlive(event.worker, event.message.ref, controller, moved);
}

}  // namespace

EffectlessEvents::Taken EffectlessEvents::TakeFrom(std::vector<HeadEvent>& events,
                                                   const Controller& controller) {
  Taken taken;
  Moved moved;
  std::erase_if(events, [&](const HeadEvent& head_event) {
    const Event& event = head_event.event;
    if (const auto* const report = std::get_if<ReportArrived>(&event)) {
      const std::optional<ReportAnswer> answer = AnswerTo(*report, controller, moved);
      if (!answer) return false;
      const AttemptReport& message = report->message;
      taken.answers.emplace_back(report->worker,
                                 AnswerReport{message.ref, message.sequence, *answer});
      return true;
    }
    if (const auto* const arrived = std::get_if<CheckpointArrived>(&event)) {
      return !MayBeAlive(arrived->worker, arrived->message.ref, controller, moved);
    }
    if (const auto* const seen = std::get_if<DeviceMemorySeen>(&event)) {
      return !MayBeAlive(seen->worker, seen->message.ref, controller, moved);
    }
    if (const auto* const fell = std::get_if<DeviceFellAway>(&event)) {
      return !HasDevice(fell->worker, fell->message.device, controller);
    }
    if (const auto* const end = std::get_if<AttemptFinished>(&event)) {
      const bool is_stray = IsStray(*end, controller, moved);
      if (!is_stray) {
        moved.insert(end->worker);
        return false;
      }
      const int64_t count = ++stray_ends_[end->worker];
      if (count == kStrayEndsMax + 1) taken.expelled.push_back(end->worker);
      return count > kStrayEndsMax;
    }
    if (const auto* const joined = std::get_if<WorkerJoined>(&event)) moved.insert(joined->worker);
    if (const auto* const gone = std::get_if<WorkerGone>(&event)) stray_ends_.erase(gone->worker);
    return false;
  });
  return taken;
}

}  // namespace tune
