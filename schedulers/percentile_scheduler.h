// Optuna's PercentilePruner (optuna/pruners/_percentile.py): a trial stops if its best value so far
// is strictly worse than the `percentile` best percent of what completed trials reported at exactly
// this iteration; percentile: 50 is its MedianPruner.
//
// A trial completes by ending without failure, unless this rule stopped it; within `combine` one
// that another rule stopped counts as completed. Nothing is stopped before n_startup_trials have
// completed, nor where fewer than n_min_trials of them reported. A report without a finite value is
// the worst where it is compared (nan_rule.h; Optuna stops a trial that never had one). The
// percentile is interpolated linearly. A decision names its iteration as its rung.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/check_interval.h"
#include "schedulers/nan_rule.h"
#include "schedulers/ranked_values.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/trial_table.h"

namespace tune {

// Names and defaults as in Optuna.
struct PercentileOptions {
  double percentile = 50;  // 0 .. 100.
  int64_t n_startup_trials = 5;
  int64_t n_min_trials = 1;
  CheckInterval interval;
  NanRule nan = NanRule::kStop;
};

class PercentileScheduler final : public TrialScheduler {
 public:
  PercentileScheduler(const PercentileOptions& options, Mode mode);

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override {}
  std::vector<Order> TakeOrders() override { return {}; }
  std::vector<RungView> Rungs() const override { return {}; }
  std::string name() const override { return "percentile"; }
  std::string DebugString() const override;

 private:
  struct Trial {
    bool is_live = false;
    bool was_stopped = false;
    int64_t previous = 0;  // Iteration.
    Metric best = {};
    std::vector<std::pair<int64_t, double>> values;  // By iteration, until it ends.
  };

  double Cutoff(const RankedValues& values) const;

  PercentileOptions options_;
  Mode mode_;
  TrialTable<Trial> trials_;
  int64_t completed_count_ = 0;
  int64_t stopped_count_ = 0;
  std::map<int64_t, RankedValues> completed_;  // By iteration.
};

// Options as in Optuna: percentile (needed), n_startup_trials (5), n_warmup_steps (0),
// interval_steps (1), n_min_trials (1); and nan. Errors carry "line:column: ".
Result<std::unique_ptr<TrialScheduler>> MakePercentileScheduler(const Value& options, Mode mode,
                                                                uint64_t seed);

}  // namespace tune
