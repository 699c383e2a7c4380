// The ends of attempts and of trials, and where a trial goes after one.
#include "core/check.h"
#include "core/counted.h"
#include "core/limits.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/end_notes.h"
#include "tuner/sweep.h"

namespace tune {
namespace {

// Whether the end of a rank says more of why the attempt ended than an earlier one. A first one
// that came to its end without a value may have missed another.
bool TellsMore(const AttemptEnded& end, const std::optional<AttemptEnded>& earlier, bool is_job) {
  if (!earlier) return true;
  if (earlier->detail == EndDetail::kRankLost) {
    return !is_job || end.outcome != Outcome::kCompleted;
  }
  const bool has_failed = end.outcome == Outcome::kCrashed || end.outcome == Outcome::kKilled ||
                          end.outcome == Outcome::kOutOfMemory ||
                          end.outcome == Outcome::kDeviceOutOfMemory;
  return earlier->outcome == Outcome::kBadConfig && has_failed;
}

// The end of a rank that was not in order though the first one's had been. What it says begins with
// its number.
AttemptEnded LateEnd(AttemptEnded end) {
  if (end.outcome != Outcome::kStopped) return end;
  end.outcome = Outcome::kCrashed;
  end.error = end.error.substr(0, end.error.find(':')) + ": the program ran on for " +
              std::to_string(limits::kStopGraceMs / 1000) +
              " s after rank 0 had ended with status 0, and was ended";
  return end;
}

// Where the first rank has ended in order, the others' programs may still have something to write.
RanksEnd RanksEndAfter(const AttemptEnded& end, const ExperimentSpec& spec) {
  const bool is_command = spec.trainable.is_map() && spec.trainable.Find("command") != nullptr;
  if (!is_command) return RanksEnd::kAtOnce;
  if (end.outcome == Outcome::kCompleted) return RanksEnd::kByThemselves;
  const bool may_miss_another =
      end.detail == EndDetail::kRankLost || end.outcome == Outcome::kBadConfig;
  if (may_miss_another) return RanksEnd::kSoon;
  return end.outcome == Outcome::kStopped ? RanksEnd::kGraceful : RanksEnd::kAtOnce;
}

}  // namespace

KillAttempt KillOf(const AttemptRef& ref, RanksEnd how) {
  const int64_t finish_within_ms = how == RanksEnd::kByThemselves ? limits::kStopGraceMs
                                   : how == RanksEnd::kSoon       ? limits::kKillGraceMs
                                                                  : 0;
  return {ref, how == RanksEnd::kAtOnce, finish_within_ms};
}

bool Sweep::IsUnasked(const AttemptEnded& end) const {
  return end.outcome == Outcome::kPreempted && GivesOut() && !At(end.ref.trial).is_told_to_end;
}

void Sweep::On(const LeaseEnded& event) {
  const Placement place = held_.PlacementOf(event.end.ref);
  held_.Remove(event.end.ref);
  if (event.begun) held_.Begin(*event.begun, place);
  could_have_whole_ = event.could_have_whole;
  TrialRecord& trial = At(event.end.ref.trial);
  if (!event.was_running) {
    DropFromQueue(trial);
    return;
  }
  EndRank(trial, event.end);
  if (!event.begun) return;
  TrialRecord& next = At(event.begun->trial);
  Move(next, TrialCause::kBegan);
  BeginAttempt(next, event.worker);
}

// The end of one rank is that of all, but for one that has trained all there was and waits for
// nobody. The cause is what the first one says that was not only told to end, or misses another. A
// job has succeeded when each of its programs has; a trial has its values when the first one ends.
void Sweep::EndRank(TrialRecord& trial, const AttemptEnded& end) {
  const bool is_done = trial.lease != end.ref && end.outcome == Outcome::kCompleted;
  const bool is_job = options_.spec.metric == kExitStatusMetric;
  const bool is_late = trial.ranks_told == RanksEnd::kByThemselves;
  const bool was_told =
      trial.ranks_told &&
      (end.outcome == Outcome::kPreempted ||
       (end.outcome == Outcome::kStopped && trial.ranks_told != RanksEnd::kGraceful));
  if (is_done) {
    for (const std::string& note : EndNotesOf(end.outcome, end.error)) doubts_.AddNote(trial, note);
  } else if (is_late && !is_job) {
    doubts_.AddNote(trial, "a rank that did not end well: " + LateEnd(end).error +
                               "; rank 0 had ended with status 0, and the trial's values count");
  } else if (is_late) {
    if (trial.rank_end->outcome == Outcome::kCompleted) trial.rank_end = LateEnd(end);
  } else if (!was_told && TellsMore(end, trial.rank_end, is_job)) {
    trial.rank_end = end;
  }
  if (--trial.ranks_left == 0) {
    const AttemptEnded last = trial.rank_end.value_or(end);
    EndAttempt(trial, trial.verdict ? *trial.verdict : last);
  } else if (!is_done) {
    EndRanksLeft(trial, RanksEndAfter(end, options_.spec));
  }
}

void Sweep::EndRanksLeft(TrialRecord& trial, RanksEnd how) {
  NoteToldToEnd(trial);
  trial.ranks_told = how;
  for (const SweepLease& rank : held_.RanksOf(trial.row.number)) {
    Send(rank.worker, KillOf(rank.ref, how));
  }
}

// Before it began.
void Sweep::DropFromQueue(TrialRecord& trial) {
  DropLease(trial);
  Move(trial, TrialCause::kDropped);
  WaitForLease(trial);
}

void Sweep::DropLease(TrialRecord& trial) {
  RemoveCheckpoints(retention_.Unpin(trial.row.number));
  trial.coming_checkpoints.clear();
  trial.lease.reset();
}

void Sweep::EndAttempt(TrialRecord& trial, const AttemptEnded& end) {
  TUNE_CHECK(trial.lease.has_value());
  const Duration ran = now_ - trial.running_since();
  // One that found the disk full waits for the person, and costs its trial nothing.
  trial.attempt.outcome = end.detail == EndDetail::kDiskFull ? Outcome::kPreempted : end.outcome;
  trial.attempt.error = end.error.substr(0, limits::kErrorBytesMax);
  trial.attempt.finished_at = now_;
  trial.row.run_seconds += ran.seconds();
  // An exponential mean with weight 1/8 follows the sweep's pace and is exact in integers.
  mean_attempt_ =
      mean_attempt_ ? Duration{mean_attempt_->us + (ran.us - mean_attempt_->us) / 8} : ran;
  DropLease(trial);
  for (const std::string& note : EndNotesOf(end.outcome, end.error)) doubts_.AddNote(trial, note);
  Move(trial, TrialCause::kEnd);
  AfterAttempt(trial, end);
  trial.verdict.reset();
  out_.attempts.push_back(trial.attempt);
  MarkChanged(trial);
}

void Sweep::AfterAttempt(TrialRecord& trial, const AttemptEnded& end) {
  if (trial.is_over()) {
    trial.row.finished_at = now_;
    return;
  }
  if (end.outcome == Outcome::kCompleted) {
    if (trial.row.iterations == 0) {
      Fail(trial, "ended without reporting " + options_.spec.metric);
    } else {
      doubts_.OnCompleted(trial);
      EndTrial(trial, TrialStatus::kTerminated, StopReason::kCompleted);
    }
    return;
  }
  if (trial.is_paused()) return;
  if (end.detail == EndDetail::kBadCheckpoint && trial.attempt.from_iteration > 0) {
    LeaveBadCheckpoint(trial);
    WaitForLease(trial);
    return;
  }
  if (end.detail == EndDetail::kDiskFull) {
    WaitForLease(trial);
    if (end_status_) return;
    out_.actions.push_back(Say{"trial " + std::to_string(trial.row.number.value) + ": " +
                               end.error + "; the sweep stops until the disk takes writes"});
    StopGiving(ExperimentStatus::kInterrupted);
    return;
  }
  // One that has its last answer owes nothing, however its process ends.
  const bool is_free = trial.last_answer == ReportAnswer::kStop;
  if (!is_free && IsFailure(end.outcome, options_.spec.failure)) {
    AfterFailure(trial, end);
  } else {
    WaitForLease(trial);
  }
}

void Sweep::AfterFailure(TrialRecord& trial, const AttemptEnded& end) {
  ++trial.failures[end.outcome];
  NoteFailure(trial, end.outcome);
  const FailureAnswer answer =
      AnswerFailure(options_.spec.failure, {end.outcome, trial.row.number, MayHaveMore(trial)},
                    trial.failures, options_.seed);
  if (answer.gives_up) {
    if (!answer.why.empty()) {
      trial.attempt.error += (trial.attempt.error.empty() ? "" : "; ") + answer.why;
    }
    Fail(trial, trial.attempt.error);
    return;
  }
  trial.on_whole_device = trial.on_whole_device || answer.on_whole_device;
  WaitForLease(trial);
  if (answer.wait.us <= 0 || trial.state != TrialState::kWaiting) return;
  trial.retry_at = now_ + answer.wait;
  Move(trial, TrialCause::kBackOff);
}

// Whether it has shares of devices that could be whole ones. Of several ranks each needs its own.
bool Sweep::MayHaveMore(const TrialRecord& trial) const {
  const ResourceRequest request = RequestOf(trial);
  if (request.gpu_milli == 0 || request.gpu_milli >= kWholeMilli) return false;
  return request.workers == 1 || could_have_whole_;
}

// What it should have gone on from cannot be used: the next attempt takes the one before, or
// begins anew.
void Sweep::LeaveBadCheckpoint(TrialRecord& trial) {
  const TrialNumber owner = trial.resume_owner.value_or(trial.row.number);
  if (const auto dropped = retention_.Drop(owner, trial.resume_path)) {
    out_.checkpoints.push_back(
        CheckpointRow{dropped->trial, dropped->iteration, dropped->ref, CheckpointState::kCorrupt});
  }
  // None is later: the attempt that should have gone on from it saved nothing.
  GoOnFromLatest(trial);
  trial.attempt.error +=
      "; going on from " + (trial.resume_iteration == 0
                                ? std::string("the start")
                                : "iteration " + std::to_string(trial.resume_iteration));
  out_.actions.push_back(
      Say{"trial " + std::to_string(trial.row.number.value) + ": " + trial.attempt.error});
}

// The kept checkpoint that is its latest, or the start.
void Sweep::GoOnFromLatest(TrialRecord& trial) {
  const CheckpointRetention::Entry* const latest = retention_.Latest(trial.row.number);
  trial.resume_iteration = latest == nullptr ? 0 : latest->iteration;
  trial.resume_owner.reset();
  trial.resume_has_other_config = latest != nullptr && latest->lineage != trial.exploit_count;
  trial.resume_path =
      latest == nullptr ? "" : WithinArtifacts(trial, latest->ref.path).value_or("");
}

void Sweep::WaitForLease(TrialRecord& trial) {
  if (trial.is_over() || trial.is_paused()) return;
  if (const StopReason reason = ReasonNotToGoOn(trial); reason != StopReason::kNone) {
    EndTrial(trial, TrialStatus::kTerminated, reason);
    return;
  }
  if (HasUsedItsTime(trial, Duration{})) return EndByTrialTime(trial);
  MarkChanged(trial);
  if (trial.pause_wanted) PauseByCommand(trial, *trial.pause_wanted);
}

// Why no attempt of it would begin any more, now or later.
StopReason Sweep::ReasonNotToGoOn(const TrialRecord& trial) const {
  if (sweep_over_) return StopReason::kSweepLimit;
  if (end_status_ == ExperimentStatus::kStopped) return end_reason_;
  return trial.is_stop_wanted ? StopReason::kUser : StopReason::kNone;
}

void Sweep::EndTrial(TrialRecord& trial, TrialStatus status, StopReason reason) {
  CloseTrial(trial, status, reason);
  scheduler_->OnTrialEnded(trial.row.number, status == TrialStatus::kError);
  FollowOrders();
}

// The scheduler knows, or is told by the caller.
void Sweep::CloseTrial(TrialRecord& trial, TrialStatus status, StopReason reason) {
  const double present = trial.is_running() ? (now_ - trial.running_since()).seconds() : 0;
  searcher_->OnDuration(trial.row.number, trial.row.run_seconds + present);
  const bool is_stopped = reason == StopReason::kScheduler || reason == StopReason::kSweepLimit ||
                          reason == StopReason::kUser;
  if (is_stopped) searcher_->OnStopped(trial.row.number);
  Move(trial, TrialCause::kOver);
  trial.row.status = status;
  trial.row.stop_reason = reason;
  trial.row.finished_at = now_;
  RemoveCheckpoints(retention_.OnTrialOver(trial.row.number, status == TrialStatus::kError));
  trial.held_by_scheduler = false;
  trial.held_by_command.reset();
  trial.pause_wanted.reset();
  trial.is_stop_wanted = false;
  // It may have said nothing.
  trial.last_values.resize(1 + options_.spec.more_objectives.size() +
                           options_.spec.feasible.size());
  searcher_->OnTrialEnded(trial.row.number, trial.last_values, status == TrialStatus::kError);
  doubts_.OnTrialEnded(trial);
  if (status == TrialStatus::kTerminated) NoteGain(trial);
  MarkChanged(trial);
}

// By its best value, or of several objectives its last report that has them all.
void Sweep::NoteGain(const TrialRecord& trial) {
  const ExperimentSpec& spec = options_.spec;
  const std::vector<Objective> objectives = spec.objectives();
  LossPoint losses;
  double violation = trial.whole_violation;
  if (objectives.size() == 1) {
    if (trial.row.best_value) losses = {AsLoss(*trial.row.best_value, spec.mode)};
    violation = trial.row.best_violation.value_or(0);
  }
  for (size_t k = 0; objectives.size() > 1 && k < trial.whole_values.size(); ++k) {
    losses.push_back(AsLoss(trial.whole_values[k], objectives[k].mode));
  }
  const bool was_over = gain_.is_over();
  gain_.OnTrialEnded(trial.row.number, losses, violation, spec.no_gain_max);
  if (was_over || !gain_.is_over() || end_status_) return;
  EndEarly("until.no_gain: " + Counted(gain_.without_gain(), "trial") + " in a row " +
               (gain_.last_gain().value < 0 ? "came to nothing"
                                            : "ended without a better result than trial " +
                                                  std::to_string(gain_.last_gain().value)),
           GainWatch::HowToGoOn(options_.name, samples_));
}

void Sweep::Fail(TrialRecord& trial, const std::string& error) {
  EndTrial(trial, TrialStatus::kError, StopReason::kNone);
  ++error_count_;
  const bool all_fail_alike =
      !trial.has_reported_metric &&
      alike_failures_.Add(trial.attempt.outcome, error, options_.spec.limits.failed_alike);
  if (end_status_) return;
  const auto& failed_max = options_.spec.limits.failed_trials;
  if (failed_max && error_count_ >= *failed_max) {
    EndEarly("limits.failed_trials: " + Counted(error_count_, "trial") + " failed",
             "the sweep ends");
    EndSweep(StopReason::kSweepLimit, true);
  } else if (all_fail_alike) {
    EndEarly(
        "all " + std::to_string(alike_failures_.count()) +
            " trials so far failed alike, before any report of " + options_.spec.metric,
        "the sweep ends. When the cause is mended: tune resume " + options_.name + " --errored");
    EndSweep(StopReason::kSweepLimit, true);
  }
}

// The worker ends the process; what we say here stands as the attempt's end.
void Sweep::Kill(TrialRecord& trial, Outcome outcome, const std::string& error) {
  if (trial.verdict) return;
  trial.verdict = AttemptEnded{*trial.lease, outcome, error};
  if (trial.takes_reports()) Move(trial, TrialCause::kCondemn);
  TellToEnd(*trial.attempt.worker, trial);
}

// Of several ranks only the first has something to save: its end is the others'.
void Sweep::TellToEnd(WorkerId worker, TrialRecord& trial) {
  NoteToldToEnd(trial);
  // A program that is only waited for may have something to tidy up.
  const bool is_patient = trial.is_to_go_on() || options_.spec.metric == kExitStatusMetric;
  if (trial.ranks_left > 1 && !trial.is_to_go_on()) {
    return EndRanksLeft(trial, is_patient ? RanksEnd::kGraceful : RanksEnd::kAtOnce);
  }
  Send(worker, KillAttempt{*trial.lease, !is_patient});
}

void Sweep::NoteToldToEnd(TrialRecord& trial) {
  trial.is_told_to_end = true;
  const bool is_news = trial.state == TrialState::kQueued || trial.state == TrialState::kRunning;
  if (is_news) Move(trial, TrialCause::kTellToEnd);
}

// Who holds its lease.
std::optional<WorkerId> Sweep::Holder(const TrialRecord& trial) const {
  const SweepLease* const lease = trial.lease ? held_.Find(*trial.lease) : nullptr;
  return lease == nullptr ? std::nullopt : std::optional(lease->worker);
}

}  // namespace tune
