#include "tuner/compared_trials.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace tune {
namespace {

// Of these the first four that do not fail are compared.
constexpr int64_t kNumbersWatched = 8;

using Curve = std::vector<std::pair<int64_t, double>>;  // Iterations and values.
struct Compared {
  TrialNumber trial;
  const Configuration* configuration = nullptr;
  const Curve* curve = nullptr;  // Not empty.
};

// Of unlike configurations, those that reported; nothing where two are alike or one has not.
std::vector<Compared> Unlike(const std::map<TrialNumber, Configuration>& ended,
                             const std::map<TrialNumber, Curve>& curves) {
  std::vector<Compared> compared;
  for (const auto& [trial, configuration] : ended) {
    const auto curve = curves.find(trial);
    const bool is_there = std::any_of(compared.begin(), compared.end(), [&](const Compared& other) {
      return *other.configuration == configuration;
    });
    if (curve == curves.end() || is_there) return {};
    compared.push_back({trial, &configuration, &curve->second});
  }
  return compared;
}

// In their first `count` reports, or as far as each of them came.
bool ReportedTheSame(const std::vector<Compared>& compared, size_t count) {
  const Curve& first = *compared.front().curve;
  return std::all_of(compared.begin(), compared.end(), [&](const Compared& one) {
    const size_t common = std::min({first.size(), one.curve->size(), count});
    return std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(common),
                      one.curve->begin());
  });
}

// Something came behind its first value, and nothing as good.
bool IsBestAtFirst(const Curve& curve, Mode mode) {
  return curve.size() > 1 && std::all_of(curve.begin() + 1, curve.end(), [&](const auto& later) {
           return IsBetter(curve.front().second, later.second, mode);
         });
}

std::optional<std::string> Compare(const std::map<TrialNumber, Configuration>& ended,
                                   const std::map<TrialNumber, Curve>& curves, Mode mode) {
  const std::vector<Compared> compared = Unlike(ended, curves);
  if (compared.empty() || !ReportedTheSame(compared, 1)) return std::nullopt;
  std::string text = "trials ";
  for (const Compared& one : compared) {
    text += (&one == &compared.front() ? "" : ", ") + std::to_string(one.trial.value);
  }
  text += " have different configurations and ";
  if (ReportedTheSame(compared, std::numeric_limits<size_t>::max())) {
    return text +
           "reported exactly the same values: the program may not use its parameters, or the "
           "number that is read is none of its results, such as a count; tune why shows what each "
           "was given";
  }
  const auto found = std::find_if(compared.begin(), compared.end(), [&](const Compared& one) {
    return IsBestAtFirst(*one.curve, mode);
  });
  if (found == compared.end()) return std::nullopt;
  const auto& [iteration, value] = found->curve->front();
  return text + "began with exactly the same value at iteration " + std::to_string(iteration) +
         ", which trial " + std::to_string(found->trial.value) +
         " was never as good as again: a value of before training may be counted as one of it; "
         "let the program print it under another name, or the regex leave it out";
}

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
                                                        bool has_failed, Mode mode) {
  if (is_compared_ || has_failed || trial.value >= kNumbersWatched) return std::nullopt;
  ended_[trial] = configuration;
  is_compared_ = static_cast<int64_t>(ended_.size()) == kWatched;
  if (!is_compared_) return std::nullopt;
  const std::map<TrialNumber, Configuration> ended = std::exchange(ended_, {});
  const std::map<TrialNumber, Curve> curves = std::exchange(curves_, {});
  return Compare(ended, curves, mode);
}

}  // namespace tune
