// What people ask of a sweep while it runs.
#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/limits.h"
#include "tuner/spec_reader.h"
#include "tuner/sweep.h"

namespace tune {

void Sweep::On(const PauseRequested& event) {
  if (event.trial) {
    TrialRecord* const trial = Find(event.trial);
    if (trial != nullptr) PauseTrial(*trial, PauseCommand::kTrial, event.now);
    return;
  }
  if (!GivesOut()) return;
  is_paused_ = true;
  for (const auto& [ref, worker, rank, is_queued] : held_.FirstRanks()) {
    PauseTrial(At(ref.trial), PauseCommand::kSweep, event.now);
  }
}

void Sweep::On(const UnpauseRequested& event) {
  const auto unpause = [this](TrialRecord& trial) {
    trial.pause_wanted.reset();
    if (!trial.held_by_command) return;
    trial.held_by_command.reset();
    GoOn(trial);
  };
  if (event.trial) {
    if (TrialRecord* const trial = Find(event.trial)) unpause(*trial);
    return;
  }
  EndSweepPause();
}

// Of those that reached it, and of those that were to.
void Sweep::EndSweepPause() {
  is_paused_ = false;
  is_waiting_said_ = false;
  for (TrialRecord& trial : trials_) {
    if (trial.pause_wanted == PauseCommand::kSweep) trial.pause_wanted.reset();
    if (trial.held_by_command != PauseCommand::kSweep) continue;
    trial.held_by_command.reset();
    GoOn(trial);
  }
}

void Sweep::On(const StopRequested& event) {
  if (event.trial) {
    if (TrialRecord* const trial = Find(event.trial)) StopTrial(*trial, event.now);
    return;
  }
  // One that waits for reports, or ends for another reason, can be hurried.
  if (end_status_ && !event.now) return;
  EndSweep(end_status_ == ExperimentStatus::kStopped ? end_reason_ : StopReason::kUser, event.now);
}

void Sweep::On(const MaxConcurrentChanged& event) {
  max_concurrent_ = std::clamp<int64_t>(event.max_concurrent, 1, limits::kConcurrencyMax);
}

// Whoever sent it has checked it; decisions of before stand.
void Sweep::On(const SettingsChanged& event) {
  Result<ExperimentSpec> changed = InterpretStoredSpec(
      event.document, options_.name, options_.spec.base_dir, /*require_trainable=*/true);
  TUNE_CHECK(changed.ok());
  ExperimentSpec& spec = options_.spec;
  if (changed->limits.max_concurrent != spec.limits.max_concurrent) {
    max_concurrent_ = changed->limits.max_concurrent;
  }
  spec.trainable = std::move(changed->trainable);
  spec.resources = changed->resources;
  spec.stop = std::move(changed->stop);
  spec.limits = changed->limits;
  spec.failure = std::move(changed->failure);
  spec.checkpoint = changed->checkpoint;
  spec.share = std::move(changed->share);
  spec.document = std::move(changed->document);
  RemoveCheckpoints(retention_.ChangePolicy(spec.checkpoint));
  limits_due_ = kAtOnce;
  unplaceable_since_.reset();
  const auto sweep_end = sweep_deadline();
  if (sweep_over_ && (!sweep_end || now_ < *sweep_end)) {
    sweep_over_ = false;
    if (ended_early_ == kSweepTimeReached) ended_early_.clear();
    const bool goes_on = HasMoreToCreate() || !Idle().empty() || held_.running_count() > 0;
    if (goes_on) {
      out_.actions.push_back(Say{"limits.sweep_time is no longer reached: the sweep goes on"});
    }
  }
  out_.present_spec = event.document;
}

// Attempts that begin from now on are of the changed one.
void Sweep::On(const ProgramChanged& event) { doubts_.OnProgramChanged(event.differences); }

void Sweep::PauseTrial(TrialRecord& trial, PauseCommand command, bool now) {
  if (trial.is_over()) return;
  // A pause of its own outlives the sweep's, and the scheduler's order to go on.
  if (trial.is_paused()) {
    if (command == PauseCommand::kTrial) trial.held_by_command = command;
    return;
  }
  // It ends at its next report, and would never go on.
  if (const StopReason reason = ReasonNotToGoOn(trial); reason != StopReason::kNone) {
    if (now) StopAtOnce(trial, reason);
    return;
  }
  if (trial.pause_wanted == PauseCommand::kTrial) command = PauseCommand::kTrial;
  if (trial.is_running() && (!now || trial.verdict)) {  // It is ended anyway.
    trial.pause_wanted = command;
    return;
  }
  if (trial.is_running()) {
    Kill(trial, Outcome::kStopped, "paused by command");
  } else if (const auto worker = Holder(trial)) {
    TellToEnd(*worker, trial);  // It waits in a worker's queue.
  }
  PauseByCommand(trial, command);
}

// Stopped, with its place given back when the attempt has ended.
void Sweep::StopTrial(TrialRecord& trial, bool now) {
  if (trial.is_over()) return;
  if (trial.is_running() && !now && !trial.verdict && !trial.is_paused()) {
    trial.is_stop_wanted = true;
    silence_due_ = now_;
    return;
  }
  StopAtOnce(trial, StopReason::kUser);
}

void Sweep::StopAtOnce(TrialRecord& trial, StopReason reason) {
  EndTrial(trial, TrialStatus::kTerminated, reason);
  if (trial.is_running()) {
    Kill(trial, Outcome::kStopped, "stopped by command");
  } else if (const auto worker = Holder(trial)) {
    TellToEnd(*worker, trial);
  }
}

void Sweep::PauseByCommand(TrialRecord& trial, PauseCommand command) {
  trial.held_by_command = command;
  Pause(trial);
}

// It has something that holds it.
void Sweep::Pause(TrialRecord& trial) {
  Move(trial, TrialCause::kHold);
  trial.pause_wanted.reset();
  is_waiting_said_ = false;
  MarkChanged(trial);
}

// Unless something else holds it.
void Sweep::GoOn(TrialRecord& trial) {
  MarkChanged(trial);
  if (trial.is_held()) return;
  Move(trial, TrialCause::kTakeUp);
  // An attempt that has not ended yet is waited for.
  if (!trial.lease) WaitForLease(trial);
}

}  // namespace tune
