#include "schedulers/wilcoxon_scheduler.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/option_map.h"
#include "schedulers/signed_ranks.h"

namespace tune {

void WilcoxonScheduler::OnTrialAdded(TrialNumber trial) { trials_.Add(trial); }

double WilcoxonScheduler::MeanOf(const std::map<int64_t, double>& values) {
  double sum = 0;
  for (const auto& [iteration, value] : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> WilcoxonScheduler::OwnOf(Trial& trial, int64_t iteration,
                                               double value) const {
  if (!options_.running_mean) return value;
  const double sum = value * static_cast<double>(iteration);
  const double before = std::exchange(trial.sum_before, sum);
  const int64_t iterations = std::exchange(trial.iterations_before, iteration);
  if (iterations + 1 != iteration) return std::nullopt;
  return sum - before;
}

Decision WilcoxonScheduler::OnReport(TrialNumber number, int64_t iteration, Metric value) {
  Trial& trial = trials_[number];
  Decision decision;
  value = Finite(value);
  if (!value) {
    trial.has_other_values = true;
    if (options_.nan == NanRule::kContinue || best_.empty()) return decision;
    decision.rung = iteration;
    decision.verdict = Verdict::kStop;
  } else if (const std::optional<double> own = OwnOf(trial, iteration, *value)) {
    trial.values[iteration] = *own;
  }
  if (decision.verdict != Verdict::kStop) {
    if (trial.has_other_values) return decision;
    std::vector<double> differences;  // Above 0 where this one is worse.
    std::map<int64_t, double> compared;
    for (const auto& [at, mine] : trial.values) {
      const auto theirs = best_.find(at);
      if (theirs == best_.end()) continue;
      differences.push_back(AsLoss(mine, mode_) - AsLoss(theirs->second, mode_));
      compared[at] = theirs->second;
    }
    const int64_t least = std::max<int64_t>(2, options_.n_startup_steps);
    if (static_cast<int64_t>(differences.size()) < least) return decision;
    decision.rung = iteration;
    decision.cutoff = Finite(MeanOf(compared));
    decision.count = 2;
    const bool is_worse = IsBetter(MeanOf(best_), MeanOf(trial.values), mode_);
    decision.rank = is_worse ? 2 : 1;
    if (!is_worse || SignedRankP(differences) >= options_.p_threshold) return decision;
    decision.verdict = Verdict::kStop;
  }
  decision.cause = StopCause::kScheduler;
  trial.was_stopped = true;
  ++stopped_count_;
  return decision;
}

void WilcoxonScheduler::OnTrialEnded(TrialNumber number, bool failed) {
  Trial& trial = trials_[number];
  if (failed) return;  // It may get another chance.
  const bool counts = !trial.was_stopped && !trial.has_other_values && !trial.values.empty();
  if (counts && (best_.empty() || IsBetter(MeanOf(trial.values), MeanOf(best_), mode_))) {
    best_ = std::move(trial.values);
  }
  trial.values = {};
}

std::string WilcoxonScheduler::DebugString() const {
  return "wilcoxon stopped:" + std::to_string(stopped_count_);
}

Result<std::unique_ptr<TrialScheduler>> MakeWilcoxonScheduler(const Value& map, Mode mode,
                                                              uint64_t /*seed*/) {
  static constexpr std::array<std::string_view, 4> kOptions = {"p_threshold", "n_startup_steps",
                                                               "running_mean", "nan"};
  const OptionMap options("scheduler", "wilcoxon", map);
  WilcoxonOptions wilcoxon;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(options.Read("p_threshold", 0.0, 1.0, wilcoxon.p_threshold));
  TUNE_RETURN_IF_ERROR(options.Read("n_startup_steps", 0, std::numeric_limits<int64_t>::max(),
                                    wilcoxon.n_startup_steps));
  TUNE_RETURN_IF_ERROR(options.Read("running_mean", wilcoxon.running_mean));
  if (options.Find("nan") != nullptr) TUNE_RETURN_IF_ERROR(ReadNanRule(options, wilcoxon.nan));
  return std::unique_ptr<TrialScheduler>(std::make_unique<WilcoxonScheduler>(wilcoxon, mode));
}

}  // namespace tune
