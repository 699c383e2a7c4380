// Whose turn it is, and on which workers it is not: a machine on which programs fail shall not use
// up the attempts of trials that would go well on another one. With one worker there is no other,
// and nothing of this applies.
#include <algorithm>
#include <utility>

#include "tuner/experiment_controller.h"

namespace tune {
namespace {

// Trials that wait for another worker than the one that has room. It bounds what is looked at, and
// what a sweep begins before it finds that its trials fail everywhere.
constexpr int64_t kPutOffMax = 16;

// Failures that a machine can be the reason of, unlike a configuration that is refused or too
// large for a device.
bool MayBeTheMachines(Outcome outcome) {
  return outcome == Outcome::kCrashed || outcome == Outcome::kKilled ||
         outcome == Outcome::kOutOfMemory || outcome == Outcome::kHung;
}

}  // namespace

void ExperimentController::NoteFailure(TrialRecord& trial, Outcome outcome) {
  if (!MayBeTheMachines(outcome) || !trial.attempt.worker) return;
  trial.failed_on = *trial.attempt.worker;
  const bool has_started = trial.last_sequence > 0;
  if (!has_started) cluster_.NoteFailedStart(*trial.attempt.worker);
}

bool ExperimentController::ShallAvoid(const TrialRecord& trial,
                                      const ResourceRequest& request) const {
  return trial.failed_on && request.workers == 1 && cluster_.leases().HasWorker(*trial.failed_on) &&
         cluster_.HasOtherThan(*trial.failed_on, request);
}

// Whether others may begin before it, where it failed, so that it gets room elsewhere: nothing has
// gone well there since, and elsewhere it would. With one place at a time the order stays.
bool ExperimentController::MayPutOff(const TrialRecord& trial,
                                     const ResourceRequest& request) const {
  return max_concurrent_ > 1 && !trial.on_whole_device &&
         cluster_.workers().At(*trial.failed_on).failed_starts > 0 &&
         cluster_.HasGoodOtherThan(*trial.failed_on, request);
}

// Interrupted and retried trials in order of number, then a new one; nothing: there is no room. A
// trial that has room nowhere is waited for.
std::optional<Turn> ExperimentController::NextTurn() {
  const std::set<WorkerId> shunned = cluster_.Shunned(Request());
  std::optional<Turn> put_off;
  int64_t put_off_count = 0;
  for (const TrialNumber number : waiting_) {
    const TrialRecord& trial = At(number);
    Turn turn{number, RequestOf(trial), shunned};
    if (!cluster_.leases().HasRoom(turn.request, shunned)) return put_off;
    if (ShallAvoid(trial, turn.request)) {
      std::set<WorkerId> except = shunned;
      except.insert(*trial.failed_on);
      if (cluster_.leases().HasRoom(turn.request, except)) {
        turn.except = std::move(except);
      } else if (MayPutOff(trial, turn.request)) {
        if (!put_off) put_off = std::move(turn);
        if (++put_off_count >= kPutOffMax) return put_off;
        continue;
      }
    }
    return turn;
  }
  Turn turn{std::nullopt, Request(), shunned};
  if (put_off && !HasMoreToCreate()) return put_off;
  if (!cluster_.leases().HasRoom(turn.request, shunned)) return put_off;
  return turn;
}

TrialRecord* ExperimentController::TakeTurn(const Turn& turn) {
  TrialRecord* trial = nullptr;
  if (turn.waiting) {
    trial = &At(*turn.waiting);
  } else {
    trial = CreateTrial();
  }
  if (trial != nullptr) trial->is_told_to_end = false;
  return trial;
}

// In that worker's queue: the next one that need not be elsewhere, or a new one.
TrialRecord* ExperimentController::NextAheadOn(WorkerId worker) {
  int64_t looked_at = 0;
  for (const TrialNumber number : waiting_) {
    const TrialRecord& trial = At(number);
    const ResourceRequest request = RequestOf(trial);
    if (trial.failed_on != worker || !ShallAvoid(trial, request)) {
      return TakeTurn({number, request, {}});
    }
    if (++looked_at >= kPutOffMax) return nullptr;
  }
  return TakeTurn({std::nullopt, Request(), {}});
}

}  // namespace tune
