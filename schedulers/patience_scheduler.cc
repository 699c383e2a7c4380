#include "schedulers/patience_scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/option_map.h"

namespace tune {

Decision PatienceScheduler::OnReport(TrialNumber number, int64_t iteration, Metric value) {
  Decision decision;
  value = Finite(value);
  if (!value) {
    if (options_.nan == NanRule::kContinue) return decision;
    value = AsLoss(std::numeric_limits<double>::infinity(), mode_);  // The worst.
  }
  Trial& trial = trials_[number];
  const size_t window = static_cast<size_t>(options_.patience) + 1;
  if (trial.recent.size() < window) {
    trial.recent.push_back(*value);
    return decision;
  }
  const double past = std::exchange(trial.recent[trial.oldest], *value);
  trial.oldest = (trial.oldest + 1) % window;
  if (!trial.best_before || IsBetter(past, *trial.best_before, mode_)) trial.best_before = past;

  decision.rung = iteration;
  decision.cutoff = Finite(Worse(*trial.best_before, options_.min_delta, mode_));
  const bool is_met = std::any_of(trial.recent.begin(), trial.recent.end(), [&](double recent) {
    return std::isfinite(recent) && !(decision.cutoff && IsBetter(*decision.cutoff, recent, mode_));
  });
  if (is_met) return decision;
  decision.verdict = Verdict::kStop;
  decision.cause = StopCause::kScheduler;
  ++stopped_count_;
  return decision;
}

void PatienceScheduler::OnTrialEnded(TrialNumber trial, bool failed) {
  if (!failed) trials_[trial] = {};  // One that failed may go on.
}

std::string PatienceScheduler::DebugString() const {
  return "patience stopped:" + std::to_string(stopped_count_);
}

Result<std::unique_ptr<TrialScheduler>> MakePatienceScheduler(const Value& map, Mode mode,
                                                              uint64_t /*seed*/) {
  static constexpr std::array<std::string_view, 3> kOptions = {"patience", "min_delta", "nan"};
  // Each trial keeps so many values.
  constexpr int64_t kPatienceMax = 1'000'000;
  const OptionMap options("scheduler", "patience", map);
  PatienceOptions patience;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kOptions));
  if (options.Find("patience") == nullptr) {
    return options.Expected("patience", "a number of reports, as in {patience: {patience: 5}}");
  }
  TUNE_RETURN_IF_ERROR(options.Read("patience", 0, kPatienceMax, patience.patience));
  TUNE_RETURN_IF_ERROR(
      options.Read("min_delta", 0.0, std::numeric_limits<double>::infinity(), patience.min_delta));
  TUNE_RETURN_IF_ERROR(ReadNanRule(options, patience.nan));
  return std::unique_ptr<TrialScheduler>(std::make_unique<PatienceScheduler>(patience, mode));
}

}  // namespace tune
