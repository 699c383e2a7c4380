#include "tuner/tuner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/limits.h"
#include "tuner/artifact_path.h"
#include "tuner/sweep_mark.h"

namespace tune {

Tuner::Tuner(Parts parts)
    : parts_(parts),
      liveness_(parts.controller.heartbeat(), parts.controller.lease()),
      awake_at_(parts.clock.Now()) {}

Tuner::Tuner(Parts parts, ExperimentId experiment, int64_t last_step) : Tuner(std::move(parts)) {
  nameless_ = experiment;
  Begin({}, last_step);
}

std::optional<Instant> Tuner::NextDeadline() const {
  std::optional<Instant> next = parts_.controller.NextDeadline();
  const std::optional<Instant> other = liveness_.NextDeadline();
  if (other && (!next || *other < *next)) next = other;
  return next;
}

Status Tuner::Step(std::optional<Instant> wake_at) {
  const std::optional<Instant> deadline = parts_.controller.NextDeadline();
  std::optional<Instant> until = NextDeadline();
  if (wake_at && (!until || *wake_at < *until)) until = wake_at;
  parts_.queue.Wait(parts_.clock, until);

  std::vector<HeadEvent> events = parts_.queue.Drain(limits::kEventsPerCommit);
  for (HeadEvent& event : events) UnmarkSweep(nameless_, event.event);
  DropEffectless(events);
  const Instant now = parts_.clock.Now();
  LookAtWorkers(until.value_or(now), now, events);
  if (events.empty()) {
    if (!deadline || now < *deadline) return OkStatus();
    events.push_back({DeadlinePassed{}});
  }
  return Take(events);
}

Status Tuner::Take(const std::vector<HeadEvent>& events) {
  const Instant now = parts_.clock.Now();
  HeadTransition step = parts_.controller.Apply(events, now);  // Pure.
  if (parts_.witness) parts_.witness(events, step);
  std::vector<JournalStep> journal;
  journal.reserve(step.sweeps.size());
  std::vector<SweepStep> commit;
  for (const auto& [sweep, rows] : step.sweeps) {
    journal.push_back({steps_.at(sweep) + 1, now, EncodeStream(rows.stream)});
    commit.push_back({sweep == ExperimentId{} ? nameless_ : sweep, journal.back(), rows});
  }
  TUNE_RETURN_IF_ERROR(parts_.store.CommitSteps(commit));  // Durable before visible.
  for (const auto& [sweep, rows] : step.sweeps) {
    ++steps_.at(sweep);
    report_count_ += static_cast<int64_t>(rows.reports.size());
  }
  Perform(std::move(step.actions));
  return OkStatus();
}

// Their answers say what was decided before, so they need not wait for a commit.
void Tuner::DropEffectless(std::vector<HeadEvent>& events) {
  EffectlessEvents::Taken taken = effectless_.TakeFrom(events, parts_.controller);
  std::map<WorkerId, std::vector<ToWorker>> answers;
  for (auto& [worker, answer] : taken.answers) answers[worker].push_back(std::move(answer));
  for (auto& [worker, messages] : answers) Send(worker, std::move(messages));
  for (const WorkerId worker : taken.expelled) {
    lines_.push_back({"a worker sent ends of trials that it never had without end; disconnected"});
    parts_.link.Close(worker);
  }
}

void Tuner::LookAtWorkers(Instant due, Instant now, std::vector<HeadEvent>& events) {
  // What was due before this life began, or before the last look, is no sleep of ours.
  const Duration late = now - std::max(due, std::exchange(awake_at_, now));
  if (late >= Duration{parts_.controller.lease().us / 2}) {
    liveness_.Excuse(late);
    // Before what came in that time: what begins to be waited for now did not wait while we slept.
    events.insert(events.begin(), HeadEvent{TunerSlept{late}});
  }
  for (const WorkerId worker : parts_.queue.TakeHeard()) liveness_.OnHeard(worker, now);
  for (auto& [worker, use] : parts_.queue.TakeDeviceUse()) device_use_[worker] = std::move(use);
  LookAtCaches();
  for (const HeadEvent& event : events) {
    if (const auto* const gone = std::get_if<WorkerGone>(&event.event)) {
      liveness_.Forget(gone->worker);
      device_use_.erase(gone->worker);
    }
  }
  for (const WorkerId worker : liveness_.TakeSilent(now)) {
    events.push_back({WorkerGone{worker, Departure::kSilent}});
  }
  for (const WorkerId worker : liveness_.TakeDue(now)) {
    std::vector<ToWorker> beat;
    beat.push_back(Heartbeat{});
    parts_.link.Send(worker, std::move(beat));
  }
}

void Tuner::LookAtCaches() {
  for (const auto& [worker, paths] : parts_.queue.TakeCached()) {
    std::vector<ToWorker> removed;
    for (const std::string& path : paths) {
      if (!IsNeededInCaches(path)) removed.push_back(RemoveCached{path});
    }
    if (!removed.empty()) parts_.link.Send(worker, std::move(removed));
  }
}

// What is removed here is not, nor what a trial left that goes on no more: whoever may still want
// that gets it from here.
bool Tuner::IsNeededInCaches(const std::string& path) const {
  if (!parts_.artifacts.Has(path)) return false;
  const std::optional<int64_t> owner = TrialOfCheckpoint(path);
  for (const auto& [id, open] : parts_.controller.sweeps()) {
    if (!path.starts_with(open.sweep.options().artifact_root + "/")) continue;
    const std::vector<TrialRecord>& trials = open.sweep.trials();
    const bool is_known = owner && *owner >= 0 && *owner < static_cast<int64_t>(trials.size());
    return !is_known || !trials[static_cast<size_t>(*owner)].is_over();
  }
  return false;
}

void Tuner::Perform(std::vector<Action> actions) {
  std::map<WorkerId, std::vector<ToWorker>> outgoing;
  for (Action& action : actions) {
    if (auto* send = std::get_if<SendToWorker>(&action)) {
      outgoing[send->worker].push_back(std::move(send->message));
    } else if (auto* remove = std::get_if<RemoveCheckpoint>(&action)) {
      if (const Status s = parts_.artifacts.Remove(remove->path); !s.ok()) {
        lines_.push_back({"warning: " + s.message()});
      }
    } else if (auto* disconnect = std::get_if<DisconnectWorker>(&action)) {
      parts_.link.Close(disconnect->worker);
    } else if (auto* say = std::get_if<Say>(&action)) {
      lines_.push_back(std::move(*say));
    } else {
      const EndOfExperiment& end = std::get<EndOfExperiment>(action);
      running_.erase(end.sweep);
      ended_.push_back(end);
    }
  }
  for (auto& [worker, messages] : outgoing) Send(worker, std::move(messages));
}

void Tuner::Send(WorkerId worker, std::vector<ToWorker> messages) {
  if (nameless_ != ExperimentId{}) {
    for (ToWorker& message : messages) MarkSweep(nameless_, message);
  }
  parts_.link.Send(worker, std::move(messages));
}

}  // namespace tune
