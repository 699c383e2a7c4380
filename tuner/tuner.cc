#include "tuner/tuner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/check.h"
#include "core/limits.h"
#include "trial_runner/command_inputs.h"
#include "trial_runner/s3_address.h"
#include "tuner/artifact_path.h"
#include "tuner/sweep_mark.h"

namespace tune {
namespace {

constexpr Duration kTryHeldEvery = Seconds(1);

std::optional<Instant> Earlier(std::optional<Instant> a, std::optional<Instant> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

Tuner::Tuner(Parts parts)
    : parts_(parts),
      liveness_(parts.controller.heartbeat(), parts.controller.lease()),
      awake_at_(parts.clock.Now()) {}

Tuner::Tuner(Parts parts, ExperimentId experiment, int64_t last_step) : Tuner(std::move(parts)) {
  nameless_ = experiment;
  Begin({}, last_step);
}

void Tuner::Release(ExperimentId sweep) {
  steps_.erase(sweep);
  parts_.store.Release(sweep == ExperimentId{} ? nameless_ : sweep);
}

std::optional<Instant> Tuner::NextDeadline() const {
  if (held_) return Earlier(held_->next_try, liveness_.NextHeartbeat());
  return Earlier(parts_.controller.NextDeadline(), liveness_.NextDeadline());
}

Status Tuner::Step(std::optional<Instant> wake_at) {
  if (held_) return StepHeld(wake_at);
  const std::optional<Instant> deadline = parts_.controller.NextDeadline();
  const std::optional<Instant> until = Earlier(NextDeadline(), wake_at);
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
  TUNE_CHECK(!held_);
  const Instant now = parts_.clock.Now();
  Decided decided{parts_.controller.Apply(events, now), {}};  // Pure.
  if (parts_.witness) parts_.witness(events, decided.step);
  for (const auto& [sweep, rows] : decided.step.sweeps) {
    decided.journal.push_back({steps_.at(sweep) + 1, now, EncodeStream(rows.stream)});
  }
  const Status committed = Commit(decided);  // Durable before visible.
  if (committed.ok()) {
    Act(std::move(decided));
    return OkStatus();
  }
  const bool is_full = committed.code() == StatusCode::kResourceExhausted;
  if (!is_full || !parts_.outwaits_full_disk) return committed;
  held_ = {std::move(decided), committed, now, now + kTryHeldEvery};
  lines_.push_back({committed.message() +
                    ". Nothing is taken until there is room; what runs goes on, and no lease runs "
                    "out"});
  return OkStatus();
}

Status Tuner::Commit(const Decided& decided) {
  std::vector<SweepStep> commit;
  for (const auto& [sweep, rows] : decided.step.sweeps) {
    commit.push_back(
        {sweep == ExperimentId{} ? nameless_ : sweep, decided.journal[commit.size()], rows});
  }
  return parts_.store.CommitSteps(commit);
}

// It is durable.
void Tuner::Act(Decided decided) {
  for (const auto& [sweep, rows] : decided.step.sweeps) {
    // It may have ended, and been released, before this step, which was held, was committed.
    if (const auto last = steps_.find(sweep); last != steps_.end()) ++last->second;
    report_count_ += static_cast<int64_t>(rows.reports.size());
  }
  Perform(std::move(decided.step.actions));
}

Status Tuner::StepHeld(std::optional<Instant> wake_at) {
  const std::optional<Instant> until = Earlier(NextDeadline(), wake_at);
  parts_.queue.WaitForWake(parts_.clock, until);
  const Instant now = parts_.clock.Now();
  liveness_.Excuse(Overslept(until.value_or(now), now));
  HearWorkers(now);
  SendHeartbeats(now);
  // A clock that is set back puts nothing off.
  const Duration wait = held_->next_try - now;
  if (wait.us > 0 && wait <= kTryHeldEvery) return OkStatus();
  const Status committed = Commit(held_->decided);
  if (committed.code() == StatusCode::kResourceExhausted) {
    held_->why = committed;
    held_->next_try = now + kTryHeldEvery;
    return OkStatus();
  }
  if (!committed.ok()) return committed;
  Held held = *std::exchange(held_, std::nullopt);
  const Duration lasted = std::max(Duration{}, now - held.since);
  Act(std::move(held.decided));
  lines_.push_back({"the disk of the database has room again, after " + FormatDuration(lasted)});
  // Before what came meanwhile.
  return Take({HeadEvent{TunerSlept{lasted}}});
}

Status Tuner::WhyHeld() const {
  TUNE_CHECK(held_);
  return ResourceExhausted(held_->why.message() + ". Nothing is taken until there is room (since " +
                           FormatInstant(held_->since) + ")");
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

// What was due before this life began, or before the last look, is no sleep of ours.
Duration Tuner::Overslept(Instant due, Instant now) {
  const Duration late = now - std::max(due, std::exchange(awake_at_, now));
  return late >= Duration{parts_.controller.lease().us / 2} ? late : Duration{};
}

void Tuner::LookAtWorkers(Instant due, Instant now, std::vector<HeadEvent>& events) {
  if (const Duration late = Overslept(due, now); late.us > 0) {
    liveness_.Excuse(late);
    // Before what came in that time: what begins to be waited for now did not wait while we slept.
    events.insert(events.begin(), HeadEvent{TunerSlept{late}});
  }
  HearWorkers(now);
  LookAtWaits();
  LookAtCaches();
  for (const HeadEvent& event : events) {
    if (const auto* const gone = std::get_if<WorkerGone>(&event.event)) {
      liveness_.Forget(gone->worker);
      waits_.erase(gone->worker);
      device_use_.erase(gone->worker);
    }
  }
  for (const WorkerId worker : liveness_.TakeSilent(now)) {
    events.push_back({WorkerGone{worker, Departure::kSilent}});
  }
  SendHeartbeats(now);
}

void Tuner::HearWorkers(Instant now) {
  for (const WorkerId worker : parts_.queue.TakeHeard()) liveness_.OnHeard(worker, now);
  for (auto& [worker, use] : parts_.queue.TakeDeviceUse()) device_use_[worker] = std::move(use);
}

void Tuner::SendHeartbeats(Instant now) {
  for (const WorkerId worker : liveness_.TakeDue(now)) {
    std::vector<ToWorker> beat;
    beat.push_back(Heartbeat{});
    parts_.link.Send(worker, std::move(beat));
  }
}

// What workers' checkpoints wait for is said once, and that they do no more; what their data do,
// and how far these are, each time. The tuner's own worker needs no name.
void Tuner::LookAtWaits() {
  std::map<WorkerId, std::string> waits = parts_.queue.TakeWaits();
  const auto& sweeps = parts_.controller.sweeps();
  const bool go_on =
      !sweeps.empty() && std::all_of(sweeps.begin(), sweeps.end(), [](const auto& e) {
        return e.second.sweep.options().spec.checkpoint.is_async;
      });
  for (const auto& [worker, why] : waits) {
    const auto before = waits_.find(worker);
    const std::string was = before == waits_.end() ? "" : before->second;
    const WorkerBook& book = parts_.controller.cluster().workers();
    const auto known = book.all().find(worker);
    const bool is_local = known == book.all().end() || known->second.row.is_local;
    const std::string whose = is_local ? "checkpoints" : "checkpoints of " + book.NameOf(worker);
    if (why.starts_with(kDataWait)) {
      lines_.push_back({why});
    } else if (why.empty() && was.starts_with(kDataWait)) {
      lines_.push_back({"the data are there"});
    } else if (!why.empty() && (was.empty() || was.starts_with(kDataWait))) {
      lines_.push_back(
          {whose + " wait, trials go on" + (go_on ? "" : " up to their next one") + ": " + why});
    } else if (!was.empty() && why.empty()) {
      lines_.push_back({whose + " are kept again"});
    }
    waits_[worker] = why;
  }
}

std::string Tuner::WaitOf(WorkerId worker) const {
  const auto found = waits_.find(worker);
  if (found == waits_.end() || found->second.empty()) return "";
  const bool is_of_data = found->second.starts_with(kDataWait);
  return (is_of_data ? "" : "checkpoints wait: ") + found->second;
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
  // Nobody asks an object store for each heartbeat: a worker keeps a trial's latest alone.
  if (!IsS3Url(path) && !parts_.artifacts.Has(path)) return false;
  const std::optional<int64_t> owner = TrialOfCheckpoint(path);
  for (const auto& [id, open] : parts_.controller.sweeps()) {
    if (!path.starts_with(open.sweep.options().checkpoint_root() + "/")) continue;
    const std::vector<TrialRecord>& trials = open.sweep.trials();
    const bool is_known = owner && *owner >= 0 && *owner < static_cast<int64_t>(trials.size());
    return !is_known || !trials[static_cast<size_t>(*owner)].is_over();
  }
  return false;
}

// What is removed waits until all is sent: a disk may take its time.
void Tuner::Perform(std::vector<Action> actions) {
  std::map<WorkerId, std::vector<ToWorker>> outgoing;
  std::vector<std::string> removed;
  for (Action& action : actions) {
    if (auto* send = std::get_if<SendToWorker>(&action)) {
      outgoing[send->worker].push_back(std::move(send->message));
    } else if (auto* remove = std::get_if<RemoveCheckpoint>(&action)) {
      removed.push_back(std::move(remove->path));
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
  for (const std::string& path : removed) {
    if (const Status s = parts_.artifacts.Remove(path); !s.ok()) {
      lines_.push_back({"warning: " + s.message()});
    }
  }
}

void Tuner::Send(WorkerId worker, std::vector<ToWorker> messages) {
  if (nameless_ != ExperimentId{}) {
    for (ToWorker& message : messages) MarkSweep(nameless_, message);
  }
  parts_.link.Send(worker, std::move(messages));
}

}  // namespace tune
