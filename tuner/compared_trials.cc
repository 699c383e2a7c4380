#include "tuner/compared_trials.h"

#include <algorithm>

namespace tune {
namespace {

// Of these the first four that do not fail are compared.
constexpr int64_t kNumbersWatched = 8;

std::string Named(const std::string& unit) { return unit.empty() ? "none" : "'" + unit + "'"; }

}  // namespace

std::vector<std::string> ComparedTrials::OnFirstReport(TrialNumber trial, int64_t iteration,
                                                       const std::optional<FirstReading>& reading) {
  std::vector<std::string> lines;
  const bool names_epoch = reading && reading->epoch;
  const Beginning beginning{names_epoch ? *reading->epoch : iteration, names_epoch};
  if (auto line = CheckBeginning(beginning)) lines.push_back(*std::move(line));
  if (!reading) return lines;
  if (auto line = CheckUnit({trial, reading->unit})) lines.push_back(*std::move(line));
  return lines;
}

// One that begins further on than at 1, where the sweep's first one began, and was given nothing to
// go on from, may have found what another trial left. Steps that begin elsewhere may differ by the
// size of a batch.
std::optional<std::string> ComparedTrials::CheckBeginning(const Beginning& beginning) {
  if (!first_beginning_) first_beginning_ = beginning;
  const bool is_alike = first_beginning_->is_epoch == beginning.is_epoch;
  const int64_t first = first_beginning_->at;
  if (!is_alike || first > 1 || beginning.at <= std::max<int64_t>(first, 1)) return std::nullopt;
  const std::string what = beginning.is_epoch ? "epoch " : "iteration ";
  return "it may have gone on from what another trial left: it was given no checkpoint, and begins "
         "at " +
         what + std::to_string(beginning.at) + ", where the first trial began at " +
         std::to_string(first) + "; let each trial write into a folder of its own, {tune.dir}";
}

std::optional<std::string> ComparedTrials::CheckUnit(const Unit& unit) {
  if (!first_unit_) first_unit_ = unit;
  if (first_unit_->unit == unit.unit) return std::nullopt;
  return "its values are printed in another unit than those of trial " +
         std::to_string(first_unit_->trial.value) + ": " + Named(unit.unit) + " where that has " +
         Named(first_unit_->unit) + "; units are not read: let the program print one of them alone";
}

void ComparedTrials::OnReport(TrialNumber trial, int64_t iteration, Metric value) {
  if (is_compared_ || trial.value >= kNumbersWatched || !value) return;
  curves_[trial].emplace_back(iteration, *value);
}

std::optional<std::string> ComparedTrials::OnTrialEnded(TrialNumber trial,
                                                        const Configuration& configuration,
                                                        bool has_failed) {
  if (is_compared_ || has_failed || trial.value >= kNumbersWatched) return std::nullopt;
  ended_[trial] = configuration;
  is_compared_ = static_cast<int64_t>(ended_.size()) == kWatched;
  if (!is_compared_) return std::nullopt;
  const bool are_alike = AreAlike();
  std::string numbers;
  for (const auto& [number, its] : ended_) {
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(number.value);
  }
  curves_.clear();
  ended_.clear();
  if (!are_alike) return std::nullopt;
  return "trials " + numbers +
         " have different configurations and reported exactly the same values: the program may not "
         "use its parameters, or the number that is read is none of its results, such as a count; "
         "tune "
         "why shows what each was given";
}

bool ComparedTrials::AreAlike() const {
  const Curve* first = nullptr;
  for (const auto& [trial, configuration] : ended_) {
    const auto curve = curves_.find(trial);
    if (curve == curves_.end()) return false;
    const auto is_same = [&](const auto& other) {
      return other.first != trial && other.second == configuration;
    };
    if (std::any_of(ended_.begin(), ended_.end(), is_same)) return false;
    if (first == nullptr) first = &curve->second;
    const auto common = static_cast<ptrdiff_t>(std::min(first->size(), curve->second.size()));
    if (!std::equal(first->begin(), first->begin() + common, curve->second.begin())) return false;
  }
  return first != nullptr;
}

}  // namespace tune
