#include "tuner/sweep.h"

#include <utility>

#include "core/check.h"
#include "tuner/search_problem.h"

namespace tune {

Sweep::Sweep(ControllerOptions options, std::unique_ptr<Searcher> searcher,
             std::unique_ptr<TrialScheduler> scheduler, Transition& out)
    : options_(std::move(options)),
      searcher_(std::move(searcher)),
      scheduler_(std::move(scheduler)),
      retention_(options_.spec.checkpoint, options_.spec.mode),
      doubts_(options_.spec, out),
      samples_(options_.spec.samples),
      trial_count_max_(
          TrialCountOf(options_.spec, options_.space, samples_, options_.decision_version)),
      max_concurrent_(options_.spec.limits.max_concurrent),
      out_(out) {}

void Sweep::RestoreSuggestions(std::vector<std::pair<TrialNumber, Configuration>> suggestions) {
  for (auto& [number, configuration] : suggestions) {
    suggestions_.emplace(number, std::move(configuration));
  }
}

bool Sweep::HasMoreToCreate() const {
  return !space_exhausted_ && !gain_.is_over() &&
         (trial_count_max_ < 0 || static_cast<int64_t>(trials_.size()) < trial_count_max_);
}

TrialRecord* Sweep::Find(const std::optional<TrialNumber>& number) {
  if (!number || number->value < 0 || number->value >= static_cast<int64_t>(trials_.size())) {
    return nullptr;
  }
  return &At(*number);
}

SweepAnswer Sweep::Apply(const SweepEvent& event) {
  answer_ = SweepAnswer{};
  std::visit([this](const auto& e) { On(e); }, event);
  return std::exchange(answer_, SweepAnswer{});
}

void Sweep::On(const TimeSet& event) {
  now_ = event.at;
  if (!life_start_) life_start_ = last_active_ = now_;
}

// The one place where a trial's state changes; the table says whether it may.
void Sweep::Move(TrialRecord& trial, TrialCause cause) {
  const std::optional<TrialState> next = NextTrialState(trial.state, cause);
  TUNE_CHECK(next.has_value());
  Unlist(trial);
  trial.state = *next;
  if (trial.state != TrialState::kBackingOff) trial.retry_at.reset();
  List(trial);
  if (const auto status = StatusOf(*next)) trial.row.status = *status;
  moved_.insert(trial.row.number);
}

void Sweep::List(const TrialRecord& trial) {
  if (trial.state == TrialState::kWaiting) waiting_.insert(trial.row.number);
  if (trial.state == TrialState::kBackingOff) {
    backing_off_.insert({*trial.retry_at, trial.row.number});
  }
  if (trial.is_paused()) paused_.insert(trial.row.number);
}

void Sweep::Unlist(const TrialRecord& trial) {
  if (trial.state == TrialState::kWaiting) waiting_.erase(trial.row.number);
  if (trial.state == TrialState::kBackingOff) {
    backing_off_.erase({*trial.retry_at, trial.row.number});
  }
  if (trial.is_paused()) paused_.erase(trial.row.number);
}

void Sweep::Send(WorkerId worker, ToWorker message) {
  out_.actions.push_back(SendToWorker{worker, std::move(message)});
}

void Sweep::MarkChanged(const TrialRecord& trial) { changed_.insert(trial.row.number); }

void Sweep::Conclude() {
  for (const TrialNumber number : created_) {
    const TrialRecord& trial = At(number);
    out_.new_trials.push_back(NewTrialRow{trial.row, trial.configuration});
    changed_.erase(number);
  }
  for (const TrialNumber number : changed_) out_.trials.push_back(At(number).row);
  created_.clear();
  changed_.clear();
  moved_.clear();
}

}  // namespace tune
