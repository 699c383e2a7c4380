// Optuna's ThresholdPruner (optuna/pruners/_threshold.py), a guard against what has diverged: a
// trial stops if a value is below `lower` or above `upper`, or is not finite (nan_rule.h).
//
// A decision to stop names its iteration as its rung, and the bound as its cutoff, where there is
// one.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "schedulers/check_interval.h"
#include "schedulers/nan_rule.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/trial_table.h"

namespace tune {

// Names as in Optuna.
struct ThresholdOptions {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  CheckInterval interval;
  NanRule nan = NanRule::kStop;
};

class ThresholdScheduler final : public TrialScheduler {
 public:
  explicit ThresholdScheduler(const ThresholdOptions& options) : options_(options) {}

  void OnTrialAdded(TrialNumber trial) override { previous_.Add(trial); }
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber, bool) override {}
  void OnNoMoreTrials() override {}
  std::vector<Order> TakeOrders() override { return {}; }
  std::vector<RungView> Rungs() const override { return {}; }
  std::string name() const override { return "threshold"; }
  std::string DebugString() const override;

 private:
  ThresholdOptions options_;
  TrialTable<int64_t> previous_;  // Iterations.
  int64_t stopped_count_ = 0;
};

// Options: lower, upper (one of them at least), n_warmup_steps (0), interval_steps (1);
// and nan. Errors carry "line:column: ".
Result<std::unique_ptr<TrialScheduler>> MakeThresholdScheduler(const Value& options, Mode mode,
                                                               uint64_t seed);

}  // namespace tune
