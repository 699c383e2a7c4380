// What must hold of the trials after each step. A broken one ends the process before the step is
// committed: the database stays as it was, and a resume begins from there.
#include <string>

#include "core/check.h"
#include "tuner/sweep.h"

namespace tune {
namespace {

bool MayHaveVerdict(TrialState state) {
  return state == TrialState::kCondemned || state == TrialState::kPausing ||
         state == TrialState::kReturning || state == TrialState::kEnding;
}

bool MustBeToldToEnd(TrialState state) {
  return state == TrialState::kSaving || state == TrialState::kDropping ||
         state == TrialState::kPausedQueued || state == TrialState::kOverQueued;
}

bool MayNotBeToldToEnd(TrialState state) {
  return state == TrialState::kRunning || state == TrialState::kQueued;
}

bool FitsStatus(const TrialRecord& trial) {
  const TrialStatus status = trial.row.status;
  if (const auto expected = StatusOf(trial.state)) return status == *expected;
  return status == TrialStatus::kTerminated || status == TrialStatus::kError;
}

std::string Describe(const TrialRecord& trial, const char* broken) {
  return "trial " + std::to_string(trial.row.number.value) + " is " + TrialStateName(trial.state) +
         ", and " + broken;
}

}  // namespace

const char* Sweep::BrokenInvariantOf(const TrialRecord& trial) const {
  const TrialState state = trial.state;
  const TrialNumber number = trial.row.number;
  if (!FitsStatus(trial)) return "its row has another status";
  if (trial.lease.has_value() != HoldsLease(state)) return "it holds a lease, or none";
  if (trial.is_held() != IsPaused(state)) return "it is held, or by nobody";
  if (trial.retry_at.has_value() != (state == TrialState::kBackingOff)) {
    return "it waits for an instant, or for none";
  }
  if (trial.verdict && !MayHaveVerdict(state)) return "its attempt has a verdict";
  if (!trial.verdict && state == TrialState::kCondemned) return "its attempt has no verdict";
  if (MustBeToldToEnd(state) && !trial.is_told_to_end) return "no worker was told to end it";
  if (MayNotBeToldToEnd(state) && trial.is_told_to_end) return "a worker was told to end it";
  if (waiting_.contains(number) != (state == TrialState::kWaiting) ||
      paused_.contains(number) != IsPaused(state)) {
    return "it is in another list";
  }
  if (!IsRunningAttempt(state)) return nullptr;
  const auto ranks = static_cast<int64_t>(held_.RanksOf(number).size());
  if (ranks != trial.ranks_left || ranks == 0) return "other ranks of it hold leases";
  return nullptr;
}

std::optional<std::string> Sweep::BrokenInvariant() const {
  int64_t backing_off = 0;
  int64_t ahead = 0;
  for (const TrialRecord& trial : trials_) {
    if (const char* const broken = BrokenInvariantOf(trial)) return Describe(trial, broken);
    backing_off += trial.state == TrialState::kBackingOff ? 1 : 0;
    ahead += HoldsLease(trial.state) && !trial.is_running() ? 1 : 0;
  }
  if (backing_off != backing_off_count()) return "another number of trials backs off";
  if (ahead != held_.queued_count()) return "another number of leases ahead is held";
  if (const char* const broken = BrokenInvariantOfAll()) return broken;
  return std::nullopt;
}

// Of the sweep, whatever its number of trials.
const char* Sweep::BrokenInvariantOfAll() const {
  const bool is_over = end_status_ == ExperimentStatus::kStopped || sweep_over_;
  if (is_over && !(waiting_.empty() && backing_off_.empty() && paused_.empty())) {
    return "the sweep is over, and a trial is not";
  }
  return nullptr;
}

void Sweep::CheckInvariants() const {
  for (const TrialNumber number : moved_) {
    const TrialRecord& trial = At(number);
    if (const char* const broken = BrokenInvariantOf(trial)) {
      CheckFailed(__FILE__, __LINE__, Describe(trial, broken).c_str());
    }
  }
  if (const char* const broken = BrokenInvariantOfAll()) CheckFailed(__FILE__, __LINE__, broken);
}

}  // namespace tune
