// What time does to a sweep.
#include <algorithm>

#include "tuner/sweep.h"

namespace tune {

namespace {

std::string SilenceWarning(const std::string& sweep, const TrialRecord& trial, Duration silence,
                           Duration median) {
  const std::string number = std::to_string(trial.row.number.value);
  return "trial " + number + " has been silent for " + FormatDuration(silence) +
         (trial.last_sequence > 0 ? "; trials of this sweep report every "
                                  : "; the first report of trials of this sweep came after ") +
         FormatDuration(median) + ". If it hangs: tune stop " + sweep + " --trial " + number +
         " --now ends it, tune set " + sweep +
         " no_progress=" + std::to_string(std::max<int64_t>(60, 20 * median.us / 1'000'000)) +
         "s ends such trials and tries them again";
}

// What a person may look at where ranks wait for each other.
std::string RanksThatWait(const TrialRecord& trial, int64_t ranks) {
  if (ranks == 1) return "";
  const int64_t done = ranks - trial.ranks_left;
  if (done > 0) {
    return "; " + std::to_string(done) + " of its " + std::to_string(ranks) +
           " ranks had ended with status 0, and the others may have waited for them";
  }
  return "; its " + std::to_string(ranks) +
         " ranks may wait for each other: tune logs TRIAL --rank R shows how far each came";
}

}  // namespace

void Sweep::On(const TimeLimitsChecked&) {
  last_active_ = now_;
  EndBackOffs();
  const auto sweep_end = sweep_deadline();
  if (sweep_end && !sweep_over_ && now_ >= *sweep_end) {
    sweep_over_ = true;
    silence_due_ = now_;
    out_.actions.push_back(
        Say{"limits.sweep_time was reached: running trials end at their next report; tune stop " +
            options_.name + " --now ends them at once"});
    if (ended_early_.empty()) ended_early_ = kSweepTimeReached;
    EndIdle(StopReason::kSweepLimit);
    // What waits in a worker's queue shall not begin.
    for (const auto& [ref, worker, rank, is_queued] : held_.FirstRanks()) {
      if (!At(ref.trial).is_running()) TellToEnd(worker, At(ref.trial));
    }
  }
  CheckTrialLimits();
  CheckSilence();
}

// Before the report is counted.
void Sweep::NotePace(const TrialRecord& trial) {
  paces_.Of(trial.last_sequence > 0).Add(now_ - trial.progress_at);
  LookForSilenceAfter(paces_.later.patience());
}

void Sweep::LookForSilenceAfter(std::optional<Duration> patience) {
  if (patience) silence_due_ = std::min(silence_due_, now_ + *patience);
}

// When it is silent for longer than trials of this sweep are; nothing where a limit looks after
// that, or where it was said and there is nothing more to do.
std::optional<Instant> Sweep::SilentAt(const TrialRecord& trial) const {
  const auto patience = paces_.Of(trial.last_sequence > 0).patience();
  const bool is_watched = patience && !options_.spec.limits.no_progress && trial.is_running() &&
                          !trial.is_told_to_end && !trial.is_over() && !trial.is_paused() &&
                          !(trial.is_silence_said && ReasonNotToGoOn(trial) == StopReason::kNone);
  return is_watched ? std::optional(trial.progress_at + *patience) : std::nullopt;
}

void Sweep::CheckSilence() {
  if (now_ < silence_due_) return;
  silence_due_ = kNever;
  for (const auto& [ref, worker, rank, is_queued] : held_.FirstRanks()) {
    TrialRecord& trial = At(ref.trial);
    const std::optional<Instant> silent_at = SilentAt(trial);
    if (!silent_at || held_.IsAway(worker)) continue;
    if (now_ < *silent_at) {
      silence_due_ = std::min(silence_due_, *silent_at);
      continue;
    }
    trial.is_silence_said = true;
    const Duration silence = now_ - trial.progress_at;
    const StopReason reason = ReasonNotToGoOn(trial);
    if (reason == StopReason::kNone) {
      const Duration median = *paces_.Of(trial.last_sequence > 0).median();
      out_.actions.push_back(Say{SilenceWarning(options_.name, trial, silence, median)});
      continue;
    }
    // It was to end at its next report, and there may never be one.
    const std::string why =
        "silent for " + FormatDuration(silence) + ", and it was to end at its next report";
    out_.actions.push_back(Say{"trial " + std::to_string(ref.trial.value) + " is ended: " + why});
    EndTrial(trial, TrialStatus::kTerminated, reason);
    Kill(trial, Outcome::kStopped, why);
  }
}

// When the limits end its attempt unless it reports; nothing when they do not.
std::optional<Instant> Sweep::LimitOf(WorkerId worker, const TrialRecord& trial) const {
  const SweepLimits& limits = options_.spec.limits;
  std::optional<Instant> limit;
  // Nobody hears a worker that is away, and who was told to end has nothing to report.
  if (!trial.is_running() || trial.verdict || trial.is_told_to_end || held_.IsAway(worker)) {
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
void Sweep::CheckTrialLimits() {
  const SweepLimits& limits = options_.spec.limits;
  if ((!limits.trial_time && !limits.no_progress) || now_ < limits_due_) return;
  limits_due_ = kNever;
  for (const auto& [ref, worker, rank, is_queued] : held_.FirstRanks()) {
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
           "no report for " + FormatDuration(*limits.no_progress) + " (limits.no_progress)" +
               RanksThatWait(trial, options_.spec.resources.workers));
    }
  }
}

// All of its earlier attempts' time, and `of_attempt` of the present one.
bool Sweep::HasUsedItsTime(const TrialRecord& trial, Duration of_attempt) const {
  const auto& limit = options_.spec.limits.trial_time;
  return limit && Seconds(trial.row.run_seconds) + of_attempt >= *limit;
}

void Sweep::EndByTrialTime(TrialRecord& trial) {
  if (trial.row.iterations == 0) {
    out_.actions.push_back(Say{"trial " + std::to_string(trial.row.number.value) +
                               " ends without a value of " + options_.spec.metric +
                               ": limits.trial_time (" +
                               FormatDuration(*options_.spec.limits.trial_time) + ") came first"});
  }
  EndTrial(trial, TrialStatus::kTerminated, StopReason::kStopCondition);
}

std::optional<Instant> Sweep::sweep_deadline() const {
  if (!options_.spec.limits.sweep_time || !life_start_) return std::nullopt;
  return Instant{life_start_->us + options_.spec.limits.sweep_time->us - active_before_.us};
}

std::optional<Instant> Sweep::NextDeadline() const {
  std::optional<Instant> next;
  const auto consider = [&next](Instant t) {
    if (!next || t < *next) next = t;
  };
  const SweepLimits& limits = options_.spec.limits;
  if (has_ended_) return next;
  if (const auto sweep_end = sweep_deadline(); sweep_end && !sweep_over_) consider(*sweep_end);
  if (unplaceable_since_) consider(*unplaceable_since_ + limits.unplaceable);
  if (!backing_off_.empty()) consider(backing_off_.begin()->first);
  if (silence_due_ != kNever && silence_due_ != kAtOnce) consider(silence_due_);
  if (!limits.trial_time && !limits.no_progress) return next;
  for (const auto& [ref, worker, rank, is_queued] : held_.FirstRanks()) {
    const TrialRecord& trial = At(ref.trial);
    if (const auto limit = LimitOf(worker, trial)) consider(*limit);
  }
  return next;
}

}  // namespace tune
