#include "search/trial_observations.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/json.h"

namespace tune {

TrialObservations::TrialObservations(const SearchProblem& problem)
    : space_(problem.space),
      modes_(problem.modes),
      counts_history_(problem.is_unique),
      knows_whole_(problem.rules >= SearchRules::kFrom14),
      has_limits_(problem.limit_count > 0) {
  TUNE_CHECK(!modes_.empty());
}

size_t TrialObservations::SlotOf(TrialNumber number) {
  return static_cast<size_t>(number.value >= 0 ? number.value : -1 - number.value);
}

const std::vector<int64_t>& TrialObservations::IndexFor(TrialNumber number) const {
  return number.value >= 0 ? index_ : earlier_index_;
}

void TrialObservations::Add(TrialNumber number, const Configuration& configuration) {
  std::vector<int64_t>& index = number.value >= 0 ? index_ : earlier_index_;
  const size_t slot = SlotOf(number);
  if (slot >= index.size()) index.resize(slot + 1, -1);
  TUNE_CHECK(index[slot] < 0);
  auto cells = space_.CellsOf(configuration);
  TUNE_CHECK(cells.has_value());
  index[slot] = static_cast<int64_t>(trials_.size());
  ObservedTrial trial;
  trial.number = number;
  trial.cells = *std::move(cells);
  trials_.push_back(std::move(trial));
  if (number.value >= 0 || counts_history_) seen_.insert(ToJson(configuration.ToFlat()));
}

bool TrialObservations::Has(const Configuration& configuration) const {
  return seen_.contains(ToJson(configuration.ToFlat()));
}

const ObservedTrial* TrialObservations::Find(TrialNumber number) const {
  const std::vector<int64_t>& index = IndexFor(number);
  const size_t slot = SlotOf(number);
  if (slot >= index.size() || index[slot] < 0) return nullptr;
  return &trials_[static_cast<size_t>(index[slot])];
}

ObservedTrial* TrialObservations::FindMutable(TrialNumber number) {
  return const_cast<ObservedTrial*>(Find(number));
}

Losses TrialObservations::ToLosses(Objectives values) const {
  TUNE_CHECK(values.size() >= modes_.size());
  Losses losses;
  for (size_t i = 0; i < modes_.size(); ++i) {
    const double value = values[i].value_or(std::numeric_limits<double>::quiet_NaN());
    losses.push_back(AsLoss(value, modes_[i]));
  }
  return losses;
}

Objectives TrialObservations::MarginsOf(Objectives values) const {
  return values.subspan(std::min(modes_.size(), values.size()));
}

// A trial of several objectives has no best report; its last whole one counts.
void TrialObservations::Count(ObservedTrial& trial, const Losses& losses,
                              Objectives margins) const {
  const bool is_whole =
      std::none_of(losses.begin(), losses.end(), [](double x) { return std::isnan(x); });
  if (!is_whole) return;
  const double violation = ViolationOf(margins);
  const bool is_better =
      losses.size() > 1 || trial.losses.empty() ||
      IsBetterStanding(losses[0], violation, trial.losses[0], trial.violation, Mode::kMin);
  if (!is_better) return;
  trial.losses = losses;
  trial.margins.assign(margins.begin(), margins.end());
  trial.violation = violation;
}

void TrialObservations::OnReport(TrialNumber number, int64_t iteration, Objectives values) {
  ObservedTrial* const trial = FindMutable(number);
  if (trial == nullptr) return;
  Losses losses = ToLosses(values);
  const Objectives margins = MarginsOf(values);
  Count(*trial, losses, margins);
  trial->reports.push_back({iteration, std::move(losses), ViolationOf(margins)});
}

void TrialObservations::OnStopped(TrialNumber number) {
  if (ObservedTrial* const trial = FindMutable(number)) trial->was_stopped = true;
}

void TrialObservations::OnTrialEnded(TrialNumber number, Objectives last, bool failed) {
  ObservedTrial* const trial = FindMutable(number);
  if (trial == nullptr) return;
  trial->is_whole = knows_whole_ && !failed && !trial->was_stopped && number.value >= 0;
  trial->state = failed ? ObservedTrial::State::kFailed : ObservedTrial::State::kEnded;
  if (failed) {
    trial->losses.clear();
  } else {
    Count(*trial, ToLosses(last), MarginsOf(last));
  }
}

// By how much its reports broke each limit was not kept: there only what comes counts.
void TrialObservations::OnReopened(TrialNumber number) {
  ObservedTrial* const trial = FindMutable(number);
  if (trial == nullptr) return;
  trial->state = ObservedTrial::State::kRunning;
  trial->is_whole = false;
  trial->losses.clear();
  trial->margins.clear();
  trial->violation = 0;
  if (has_limits_) return;
  for (const ObservedTrial::Intermediate& report : trial->reports) {
    Count(*trial, report.losses, {});
  }
}

}  // namespace tune
