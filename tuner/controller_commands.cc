// What people ask of a sweep while it runs, and what time does to it.
#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/limits.h"
#include "core/random.h"
#include "search/perturb.h"
#include "tuner/experiment_controller.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"

namespace tune {

// ---- the sweep's lives

void ExperimentController::On(const InterruptRequested&) {
  if (end_status_ == ExperimentStatus::kInterrupted) return;
  // What was told of a stop stands; it is only not waited for any longer.
  if (end_status_ == ExperimentStatus::kStopped) return EndSweep(end_reason_, true);
  StopGiving(ExperimentStatus::kInterrupted);
}

// Everything that has a lease is told to end; the sweep ends when all have.
void ExperimentController::StopGiving(ExperimentStatus end_status) {
  end_status_ = end_status;
  for (const auto& [worker, ref] : leases_.All()) TellToEnd(worker, At(ref.trial));
  FenceAway("the sweep ended while its worker was away");
}

// Those that cannot be told now.
void ExperimentController::FenceAway(const std::string& why) {
  for (const WorkerView& view : leases_.Views()) {
    if (!leases_.HasWorker(view.worker) || !leases_.IsAway(view.worker)) continue;
    Remove(view.worker, WorkerState::kLost, why);
  }
}

void ExperimentController::On(const TunerRestarted& event) {
  const bool was_stopped = end_status_ == ExperimentStatus::kStopped && !has_ended_;
  if (!was_stopped) {
    end_status_.reset();
    end_reason_ = StopReason::kNone;
  }
  active_before_ = active_before_ + (last_active_ - *life_start_);
  life_start_ = now_;
  alike_failures_ = AlikeFailures();  // The cause may have been mended.
  // Fenced: whatever still runs under a lease of the earlier life has no effect any more, and ended
  // with that life: the time since is none of its trial's. Only workers that can find this tuner
  // may come back with theirs.
  const Instant now = std::exchange(now_, last_active_);
  for (const WorkerView& view : leases_.Views()) {
    if (!leases_.HasWorker(view.worker)) continue;  // The end of another's trials ended the sweep.
    const bool may_come_back =
        event.listens && !workers_.at(view.worker).is_local && leases_.HoldsAny(view.worker);
    if (!may_come_back) Remove(view.worker, WorkerState::kLost, "the tuner ended");
  }
  now_ = now;
  TakeOverClock(now_ - last_active_);
  for (const WorkerView& view : leases_.Views()) SetAway(view.worker);
  EndSweepPause();
  if (was_stopped) {
    out_.actions.push_back(
        Say{"the sweep was being stopped when its tuner ended; it stays stopped"});
  } else if (end_status_) {
    FenceAway("the sweep ended while its worker was away");  // By limits.failed_trials, just now.
  }
  if (sweep_over_) {
    out_.actions.push_back(Say{"limits.sweep_time was reached: no trial is started any more"});
  }
  has_ended_ = false;
  is_waiting_said_ = false;
  unplaceable_since_.reset();
  status_ = ExperimentStatus::kRunning;
  out_.experiment = ExperimentRow{status_, samples_, std::nullopt};
}

// The clock of the life before may have been another one. What is waited for is waited for by what
// was left of it; what ran on while nobody looked is not counted.
void ExperimentController::TakeOverClock(Duration gap) {
  limits_due_ = kAtOnce;
  silence_due_ = kAtOnce;
  std::set<std::pair<Instant, TrialNumber>> waits;
  for (const auto& [at, number] : std::exchange(backing_off_, {})) {
    const Duration left{std::max<int64_t>(0, (at + gap - now_).us)};
    TrialRecord& trial = At(number);
    trial.retry_at = std::min(at, now_ + left);
    waits.insert({*trial.retry_at, number});
  }
  backing_off_ = std::move(waits);
  for (const auto& [worker, ref] : leases_.All()) {
    TrialRecord& trial = At(ref.trial);
    trial.progress_at = now_;
    // Without a tuner it ran for a lease at most.
    const Duration unseen = gap.us < 0 ? gap : Duration{std::max<int64_t>(0, gap.us - lease().us)};
    trial.clock_shift = trial.clock_shift + unseen;
  }
}

// Nobody else was silent while we did not run.
void ExperimentController::On(const TunerSlept& event) {
  for (const auto& [worker, ref] : leases_.All()) {
    TrialRecord& trial = At(ref.trial);
    trial.progress_at = trial.progress_at + event.duration;
  }
  for (const WorkerId worker : away_) {
    WorkerRecord& record = workers_.at(worker);
    record.away_until = *record.away_until + event.duration;
  }
}

// Who asks for more than was there wants it to go on.
void ExperimentController::ForgetStop() {
  if (end_status_ != ExperimentStatus::kStopped) return;
  end_status_.reset();
  end_reason_ = StopReason::kNone;
}

void ExperimentController::On(const SamplesExtended& event) {
  ForgetStop();
  samples_ = event.samples;
  trial_count_max_ = TrialCountOf(options_.spec, options_.space, samples_);
  no_more_trials_said_ = false;
  out_.experiment = ExperimentRow{status_, samples_, std::nullopt};
}

void ExperimentController::On(const ErroredRetried&) {
  ForgetStop();
  if (sweep_over_) return;  // They could not begin, and are left as they are.
  for (TrialRecord& trial : trials_) {
    if (trial.row.status != TrialStatus::kError || trial.lease) continue;
    trial.failures.clear();
    Move(trial, TrialCause::kReopen);
    trial.row.finished_at.reset();
    --error_count_;
    scheduler_->OnTrialAdded(trial.row.number);
    FollowOrders();
    RemoveCheckpoints(retention_.OnTrialReopened(trial.row.number));
    if (!trial.resume_path.empty()) GoOnFromLatest(trial);
    WaitForLease(trial);
    MarkChanged(trial);
  }
}

// ---- commands

TrialRecord* ExperimentController::Find(const std::optional<TrialNumber>& number) {
  if (!number || number->value < 0 || number->value >= static_cast<int64_t>(trials_.size())) {
    return nullptr;
  }
  return &At(*number);
}

void ExperimentController::On(const PauseRequested& event) {
  if (event.trial) {
    TrialRecord* const trial = Find(event.trial);
    if (trial != nullptr) PauseTrial(*trial, PauseCommand::kTrial, event.now);
    return;
  }
  if (!GivesOut()) return;
  is_paused_ = true;
  for (const auto& [worker, ref] : leases_.All()) {
    PauseTrial(At(ref.trial), PauseCommand::kSweep, event.now);
  }
}

void ExperimentController::On(const UnpauseRequested& event) {
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
void ExperimentController::EndSweepPause() {
  is_paused_ = false;
  is_waiting_said_ = false;
  for (TrialRecord& trial : trials_) {
    if (trial.pause_wanted == PauseCommand::kSweep) trial.pause_wanted.reset();
    if (trial.held_by_command != PauseCommand::kSweep) continue;
    trial.held_by_command.reset();
    GoOn(trial);
  }
}

void ExperimentController::On(const StopRequested& event) {
  if (event.trial) {
    if (TrialRecord* const trial = Find(event.trial)) StopTrial(*trial, event.now);
    return;
  }
  // One that waits for reports, or ends for another reason, can be hurried.
  if (end_status_ && !event.now) return;
  EndSweep(end_status_ == ExperimentStatus::kStopped ? end_reason_ : StopReason::kUser, event.now);
}

void ExperimentController::On(const MaxConcurrentChanged& event) {
  max_concurrent_ = std::clamp<int64_t>(event.max_concurrent, 1, limits::kConcurrencyMax);
}

// Whoever sent it has checked it; decisions of before stand.
void ExperimentController::On(const SettingsChanged& event) {
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
  spec.document = std::move(changed->document);
  RemoveCheckpoints(retention_.ChangePolicy(spec.checkpoint));
  limits_due_ = kAtOnce;
  unplaceable_since_.reset();
  const auto sweep_end = sweep_deadline();
  if (sweep_over_ && (!sweep_end || now_ < *sweep_end)) {
    sweep_over_ = false;
    out_.actions.push_back(Say{"limits.sweep_time is no longer reached: the sweep goes on"});
  }
  out_.present_spec = event.document;
}

// Attempts that begin from now on are of the changed one.
void ExperimentController::On(const ProgramChanged& event) { program_changes_ = event.differences; }

void ExperimentController::PauseTrial(TrialRecord& trial, PauseCommand command, bool now) {
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
void ExperimentController::StopTrial(TrialRecord& trial, bool now) {
  if (trial.is_over()) return;
  if (trial.is_running() && !now && !trial.verdict && !trial.is_paused()) {
    trial.is_stop_wanted = true;
    return;
  }
  StopAtOnce(trial, StopReason::kUser);
}

void ExperimentController::StopAtOnce(TrialRecord& trial, StopReason reason) {
  EndTrial(trial, TrialStatus::kTerminated, reason);
  if (trial.is_running()) {
    Kill(trial, Outcome::kStopped, "stopped by command");
  } else if (const auto worker = Holder(trial)) {
    TellToEnd(*worker, trial);
  }
}

void ExperimentController::PauseByCommand(TrialRecord& trial, PauseCommand command) {
  trial.held_by_command = command;
  Pause(trial);
}

// It has something that holds it.
void ExperimentController::Pause(TrialRecord& trial) {
  Move(trial, TrialCause::kHold);
  trial.pause_wanted.reset();
  is_waiting_said_ = false;
  MarkChanged(trial);
}

// What the scheduler decided about paused trials.
void ExperimentController::FollowOrders() {
  for (const Order& order : scheduler_->TakeOrders()) {
    TrialRecord& trial = At(order.trial);
    if (trial.is_over()) continue;  // Ended by what an earlier order led to.
    TUNE_CHECK(trial.held_by_scheduler);
    out_.orders.push_back(OrderRow{order, trial.row.iterations, now_});
    Follow(order);
  }
}

void ExperimentController::Follow(const Order& order) {
  TrialRecord& trial = At(order.trial);
  if (order.kind == Order::Kind::kStop) {
    CloseTrial(trial, TrialStatus::kTerminated, StopReason::kScheduler);
    return;
  }
  if (order.kind == Order::Kind::kExploit) Exploit(trial, At(*order.source));
  trial.held_by_scheduler = false;
  GoOn(trial);
}

// From the source's latest checkpoint, with a configuration near the source's.
void ExperimentController::Exploit(TrialRecord& trial, const TrialRecord& source) {
  const TrialNumber owner = source.resume_owner.value_or(source.row.number);
  const bool is_there =
      source.resume_path.empty() || retention_.Find(owner, source.resume_path) != nullptr;
  if (source.resume_iteration == 0 || !is_there) {
    const std::string text =
        "trial " + std::to_string(trial.row.number.value) +
        " goes on as it was, not as a copy of trial " + std::to_string(source.row.number.value) +
        ", which has no checkpoint; without checkpoints pbt is a random search";
    SayDoubt(trial, "pbt without checkpoints", text);
    return;
  }
  trial.resume_iteration = source.resume_iteration;
  trial.resume_path = source.resume_path;
  trial.resume_owner = owner;
  ++trial.exploit_count;
  trial.config_since = AttemptNumber{trial.row.attempts + 1};
  trial.config_iteration = std::min(source.resume_iteration, trial.row.iterations);
  trial.first_unsaved.reset();
  if (trial.row.best_value && !trial.best_configuration) {
    trial.best_configuration = trial.configuration;
  }
  trial.resume_has_other_config = true;
  if (!source.resume_path.empty()) {
    RemoveCheckpoints(retention_.Borrow(trial.row.number, owner, source.resume_path));
  }
  const auto explore = SchedulerExplore(options_.spec.scheduler);
  PerturbOptions options;
  if (explore) {
    options.resample_probability = explore->resample_probability;
    options.factors = explore->perturbation_factors;
    for (const Value& name : explore->parameters) options.parameters.push_back(name.AsString());
  }
  KeyedRandom random(options_.seed, "explore", static_cast<uint64_t>(trial.row.number.value),
                     static_cast<uint64_t>(trial.row.iterations));
  trial.configuration = Perturb(options_.space, source.configuration, options, random);
  out_.exploits.push_back(ExploitRow{trial.row.number, trial.row.iterations, source.row.number,
                                     source.resume_iteration, trial.configuration});
}

// Unless something else holds it.
void ExperimentController::GoOn(TrialRecord& trial) {
  MarkChanged(trial);
  if (trial.is_held()) return;
  Move(trial, TrialCause::kTakeUp);
  // An attempt that has not ended yet is waited for.
  if (!trial.lease) WaitForLease(trial);
}

// The sweep is STOPPED: what does not run ends at once, what runs at its next report or now.
void ExperimentController::EndSweep(StopReason reason, bool now) {
  end_status_ = ExperimentStatus::kStopped;
  end_reason_ = reason;
  EndIdle(reason);
  for (const auto& [worker, ref] : leases_.All()) {
    TrialRecord& trial = At(ref.trial);
    if (!trial.is_running()) {
      if (!trial.is_over()) EndTrial(trial, TrialStatus::kTerminated, reason);
      TellToEnd(worker, trial);
    } else if (now && !trial.is_over()) {
      EndTrial(trial, TrialStatus::kTerminated, reason);
      Kill(trial, Outcome::kStopped, "the sweep was stopped");
    } else if (now && !trial.is_told_to_end) {
      TellToEnd(worker, trial);  // It has its last answer, and takes its time.
    }
  }
  if (now) FenceAway("the sweep was stopped while its worker was away");
}

// The end of one may lead to that of another.
void ExperimentController::EndIdle(StopReason reason) {
  for (const TrialNumber number : Idle()) {
    if (!At(number).is_over()) EndTrial(At(number), TrialStatus::kTerminated, reason);
  }
}

// Trials that are not over and do not run, in order of number.
std::set<TrialNumber> ExperimentController::Idle() const {
  std::set<TrialNumber> idle = waiting_;
  for (const auto& [at, number] : backing_off_) idle.insert(number);
  idle.insert(paused_.begin(), paused_.end());
  return idle;
}

// ---- time

void ExperimentController::On(const DeadlinePassed&) {}  // Apply looks at the time anyway.

void ExperimentController::CheckTimeLimits() {
  last_active_ = now_;
  CheckAway();
  EndBackOffs();
  const auto sweep_end = sweep_deadline();
  if (sweep_end && !sweep_over_ && now_ >= *sweep_end) {
    sweep_over_ = true;
    out_.actions.push_back(
        Say{"limits.sweep_time was reached: running trials end at their next report"});
    EndIdle(StopReason::kSweepLimit);
    // What waits in a worker's queue shall not begin.
    for (const auto& [worker, ref] : leases_.All()) {
      if (!At(ref.trial).is_running()) TellToEnd(worker, At(ref.trial));
    }
  }
  CheckTrialLimits();
  CheckSilence();
}

// Before the report is counted.
void ExperimentController::NotePace(const TrialRecord& trial) {
  // Until the first one a program loads its data.
  if (trial.last_sequence > 0) pace_.Add(now_ - trial.progress_at);
  if (const auto patience = pace_.patience()) {
    silence_due_ = std::min(silence_due_, now_ + *patience);
  }
}

// When it is silent for longer than trials of this sweep are; nothing where a limit looks after
// that, or it was said.
std::optional<Instant> ExperimentController::SilentAt(const TrialRecord& trial) const {
  const auto patience = pace_.patience();
  const bool is_watched = patience && !options_.spec.limits.no_progress && trial.is_running() &&
                          trial.last_sequence > 0 && !trial.is_silence_said &&
                          !trial.is_told_to_end && !trial.is_over() && !trial.is_paused();
  return is_watched ? std::optional(trial.progress_at + *patience) : std::nullopt;
}

void ExperimentController::CheckSilence() {
  if (now_ < silence_due_) return;
  silence_due_ = kNever;
  for (const auto& [worker, ref] : leases_.All()) {
    TrialRecord& trial = At(ref.trial);
    const std::optional<Instant> silent_at = SilentAt(trial);
    if (!silent_at || leases_.IsAway(worker)) continue;
    if (now_ < *silent_at) {
      silence_due_ = std::min(silence_due_, *silent_at);
      continue;
    }
    trial.is_silence_said = true;
    const std::string number = std::to_string(ref.trial.value);
    out_.actions.push_back(
        Say{"trial " + number + " has been silent for " + FormatDuration(now_ - trial.progress_at) +
            "; trials of this sweep report every " + FormatDuration(*pace_.median()) +
            ". If it hangs: tune stop " + options_.name + " --trial " + number +
            " --now ends it, tune set " + options_.name + " no_progress=" +
            std::to_string(std::max<int64_t>(60, 20 * pace_.median()->us / 1'000'000)) +
            "s ends such trials and tries them again"});
  }
}

// When the limits end its attempt unless it reports; nothing when they do not.
std::optional<Instant> ExperimentController::LimitOf(WorkerId worker,
                                                     const TrialRecord& trial) const {
  const SweepLimits& limits = options_.spec.limits;
  std::optional<Instant> limit;
  // Nobody hears a worker that is away, and who was told to end has nothing to report.
  if (!trial.is_running() || trial.verdict || trial.is_told_to_end || leases_.IsAway(worker)) {
    return limit;
  }
  if (limits.no_progress) limit = trial.progress_at + *limits.no_progress;
  if (limits.trial_time && !trial.is_over()) {
    const Duration ran_before = Seconds(trial.row.run_seconds);
    const Instant end{(trial.running_since() + *limits.trial_time).us - ran_before.us};
    if (!limit || end < *limit) limit = end;
  }
  return limit;
}

// Before limits_due_ none is due: reports only put limits off, and what else moves one says so.
void ExperimentController::CheckTrialLimits() {
  const SweepLimits& limits = options_.spec.limits;
  if ((!limits.trial_time && !limits.no_progress) || now_ < limits_due_) return;
  limits_due_ = kNever;
  for (const auto& [worker, ref] : leases_.All()) {
    TrialRecord& trial = At(ref.trial);
    const std::optional<Instant> limit = LimitOf(worker, trial);
    if (!limit) continue;
    if (now_ < *limit) {
      limits_due_ = std::min(limits_due_, *limit);
      continue;
    }
    if (!trial.is_over() && HasUsedItsTime(trial, now_ - trial.running_since())) {
      EndByTrialTime(trial);
      Kill(trial, Outcome::kStopped, "limits.trial_time reached");
    } else {
      Kill(trial, Outcome::kHung,
           "no report for " + FormatDuration(*limits.no_progress) + " (limits.no_progress)");
    }
  }
}

// All of its earlier attempts' time, and `of_attempt` of the present one.
bool ExperimentController::HasUsedItsTime(const TrialRecord& trial, Duration of_attempt) const {
  const auto& limit = options_.spec.limits.trial_time;
  return limit && Seconds(trial.row.run_seconds) + of_attempt >= *limit;
}

void ExperimentController::EndByTrialTime(TrialRecord& trial) {
  if (trial.row.iterations == 0) {
    out_.actions.push_back(Say{"trial " + std::to_string(trial.row.number.value) +
                               " ends without a value of " + options_.spec.metric +
                               ": limits.trial_time (" +
                               FormatDuration(*options_.spec.limits.trial_time) + ") came first"});
  }
  EndTrial(trial, TrialStatus::kTerminated, StopReason::kStopCondition);
}

std::optional<Instant> ExperimentController::sweep_deadline() const {
  if (!options_.spec.limits.sweep_time || !life_start_) return std::nullopt;
  return Instant{life_start_->us + options_.spec.limits.sweep_time->us - active_before_.us};
}

std::optional<Instant> ExperimentController::NextDeadline() const {
  std::optional<Instant> next;
  const auto consider = [&next](Instant t) {
    if (!next || t < *next) next = t;
  };
  const SweepLimits& limits = options_.spec.limits;
  if (has_ended_) return next;
  if (const auto sweep_end = sweep_deadline(); sweep_end && !sweep_over_) consider(*sweep_end);
  if (unplaceable_since_) consider(*unplaceable_since_ + limits.unplaceable);
  if (!backing_off_.empty()) consider(backing_off_.begin()->first);
  for (const WorkerId worker : away_) consider(*workers_.at(worker).away_until);
  if (silence_due_ != kNever && silence_due_ != kAtOnce) consider(silence_due_);
  if (!limits.trial_time && !limits.no_progress) return next;
  for (const auto& [worker, ref] : leases_.All()) {
    const TrialRecord& trial = trials_[static_cast<size_t>(ref.trial.value)];
    if (const auto limit = LimitOf(worker, trial)) consider(*limit);
  }
  return next;
}

}  // namespace tune
