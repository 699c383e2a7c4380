// How a sweep ends, and how it goes on in the next life of its tuner.
#include <algorithm>
#include <utility>

#include "tuner/search_problem.h"
#include "tuner/sweep.h"

namespace tune {

void Sweep::On(const InterruptRequested& event) {
  if (end_status_ == ExperimentStatus::kInterrupted) return;
  // What was told of a stop stands; it is only not waited for any longer.
  if (end_status_ == ExperimentStatus::kStopped) return EndSweep(end_reason_, true);
  given_up_ = event.given_up;
  StopGiving(ExperimentStatus::kInterrupted);
}

// Everything that has a lease is told to end; the sweep ends when all have.
void Sweep::StopGiving(ExperimentStatus end_status) {
  end_status_ = end_status;
  for (const auto& [ref, worker, rank, is_queued] : held_.FirstRanks())
    TellToEnd(worker, At(ref.trial));
  wishes_.push_back(EndLeasesAway{"the sweep ended while its worker was away"});
}

void Sweep::On(const LifeEnded&) {
  answer_.is_news = is_being_stopped() && !has_ended_;
  if (!answer_.is_news) {
    end_status_.reset();
    end_reason_ = StopReason::kNone;
  }
  active_before_ = active_before_ + (last_active_ - *life_start_);
  // After an end the cause may have been mended; a tuner's death mends nothing.
  const bool counts_on = options_.decision_version >= 12 && !has_ended_;
  if (counts_on) return;
  alike_failures_ = AlikeFailures();
  // Those that fail again are not all there is.
  const bool has_success =
      std::any_of(trials_.begin(), trials_.end(),
                  [](const TrialRecord& trial) { return trial.has_reported_metric; });
  if (has_success && options_.decision_version >= 14) alike_failures_.OnSuccess();
}

void Sweep::On(const LifeBegan&) {
  life_start_ = now_;
  TakeOverClock(now_ - last_active_);
}

void Sweep::On(const WentOn& event) {
  EndSweepPause();
  if (event.was_stopped) {
    out_.actions.push_back(
        Say{"the sweep was being stopped when its tuner ended; it stays stopped"});
  } else if (end_status_) {
    // By limits.failed_trials, just now.
    wishes_.push_back(EndLeasesAway{"the sweep ended while its worker was away"});
  }
  if (sweep_over_) {
    out_.actions.push_back(Say{"limits.sweep_time was reached: no trial is started any more"});
  }
  has_ended_ = false;
  is_waiting_said_ = false;
  given_up_.clear();
  unplaceable_since_.reset();
  status_ = ExperimentStatus::kRunning;
  out_.experiment = ExperimentRow{status_, samples_, std::nullopt};
}

// The clock of the life before may have been another one. What is waited for is waited for by what
// was left of it; what ran on while nobody looked is not counted.
void Sweep::TakeOverClock(Duration gap) {
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
  for (const auto& [ref, worker, rank, is_queued] : held_.FirstRanks()) {
    TrialRecord& trial = At(ref.trial);
    trial.progress_at = now_;
    // Without a tuner it ran for a lease at most.
    const Duration unseen = gap.us < 0 ? gap : Duration{std::max<int64_t>(0, gap.us - lease().us)};
    trial.clock_shift = trial.clock_shift + unseen;
  }
}

// Nobody else was silent while the tuner did not run. On a suspended machine no trial ran either,
// and no worker could come.
void Sweep::On(const TunerSlept& event) {
  const bool is_unseen = options_.decision_version >= 15;
  if (unplaceable_since_ && options_.decision_version >= 16) {
    *unplaceable_since_ = *unplaceable_since_ + event.duration;
  }
  if (is_unseen && life_start_) *life_start_ = *life_start_ + event.duration;
  for (const auto& [ref, worker, rank, is_queued] : held_.FirstRanks()) {
    TrialRecord& trial = At(ref.trial);
    trial.progress_at = trial.progress_at + event.duration;
    if (is_unseen) trial.clock_shift = trial.clock_shift + event.duration;
  }
}

// Who asks for more than was there wants it to go on.
void Sweep::ForgetStop() {
  if (end_status_ != ExperimentStatus::kStopped) return;
  end_status_.reset();
  end_reason_ = StopReason::kNone;
  ended_early_.clear();
}

void Sweep::On(const SamplesExtended& event) {
  ForgetStop();
  samples_ = event.samples;
  trial_count_max_ =
      TrialCountOf(options_.spec, options_.space, samples_, options_.decision_version);
  no_more_trials_said_ = false;
  ended_early_ = sweep_over_ ? kSweepTimeReached : "";
  gain_.Restart();
  out_.experiment = ExperimentRow{status_, samples_, std::nullopt};
}

void Sweep::On(const ErroredRetried&) {
  ForgetStop();
  if (!sweep_over_ && !gain_.is_over()) ended_early_.clear();
  if (sweep_over_) return;  // They could not begin, and are left as they are.
  for (TrialRecord& trial : trials_) {
    if (trial.row.status != TrialStatus::kError || trial.lease) continue;
    trial.failures.clear();
    Move(trial, TrialCause::kReopen);
    trial.row.finished_at.reset();
    --error_count_;
    if (options_.decision_version >= 16) searcher_->OnReopened(trial.row.number);
    scheduler_->OnTrialAdded(trial.row.number);
    no_more_trials_said_ = false;  // To a scheduler, one that is added may not be the last.
    FollowOrders();
    RemoveCheckpoints(retention_.OnTrialReopened(trial.row.number));
    if (!trial.resume_path.empty()) GoOnFromLatest(trial);
    WaitForLease(trial);
    MarkChanged(trial);
  }
}

// The sweep is STOPPED: what does not run ends at once, what runs at its next report or now.
void Sweep::EndSweep(StopReason reason, bool now) {
  end_status_ = ExperimentStatus::kStopped;
  end_reason_ = reason;
  silence_due_ = now_;
  EndIdle(reason);
  for (const auto& [ref, worker, rank, is_queued] : held_.FirstRanks()) {
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
  if (now) wishes_.push_back(EndLeasesAway{"the sweep was stopped while its worker was away"});
}

// The end of one may lead to that of another.
void Sweep::EndIdle(StopReason reason) {
  for (const TrialNumber number : Idle()) {
    if (!At(number).is_over()) EndTrial(At(number), TrialStatus::kTerminated, reason);
  }
}

// Trials that are not over and do not run, in order of number.
std::set<TrialNumber> Sweep::Idle() const {
  std::set<TrialNumber> idle = waiting_;
  for (const auto& [at, number] : backing_off_) idle.insert(number);
  idle.insert(paused_.begin(), paused_.end());
  return idle;
}

}  // namespace tune
