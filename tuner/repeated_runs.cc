#include "tuner/repeated_runs.h"

#include <algorithm>

namespace tune {

void RepeatedRuns::OnReport(TrialNumber trial, int64_t iteration, Metric value) {
  if (repeat_ < 2 || is_said_ || !value) return;
  configurations_[trial.value / repeat_].runs[trial].emplace_back(iteration, *value);
}

std::optional<std::string> RepeatedRuns::OnTrialEnded(TrialNumber trial, bool has_failed) {
  if (repeat_ < 2 || is_said_) return std::nullopt;
  const int64_t number = trial.value / repeat_;
  Configuration& configuration = configurations_[number];
  if (has_failed) configuration.runs.erase(trial);
  if (++configuration.ended_count < repeat_) return std::nullopt;
  is_said_ = AreAlike(configuration);
  configurations_.erase(number);
  if (!is_said_) return std::nullopt;
  configurations_.clear();
  const int64_t first = number * repeat_;
  return "trials " + std::to_string(first) + " to " + std::to_string(first + repeat_ - 1) +
         " are runs of one configuration and reported exactly the same values: the program does "
         "not use its seed, so repeating it tells nothing about chance. The seed of each run is in "
         "the variable TUNE_SEED, the place {tune.seed} of a command, and tune.seed() in Python";
}

bool RepeatedRuns::AreAlike(const Configuration& configuration) {
  if (configuration.runs.size() < 2) return false;
  const Curve& first = configuration.runs.begin()->second;
  return std::all_of(configuration.runs.begin(), configuration.runs.end(), [&](const auto& run) {
    const Curve& curve = run.second;
    const auto common = static_cast<ptrdiff_t>(std::min(first.size(), curve.size()));
    return common > 0 && std::equal(first.begin(), first.begin() + common, curve.begin());
  });
}

}  // namespace tune
