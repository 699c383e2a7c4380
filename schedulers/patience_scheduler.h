// Early stopping of a trial by itself, by the rule of Optuna's PatientPruner without a pruner
// inside (optuna/pruners/_patient.py): it stops if the best of its last patience + 1 values is
// worse by more than min_delta than the best one before them. A report without a finite value is
// worse than any other (nan_rule.h).
//
// A decision names its iteration as its rung, and as its cutoff the value that had to be met, where
// there was one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedulers/nan_rule.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/trial_table.h"

namespace tune {

// Names as in Optuna. patience >= 0, min_delta >= 0.
struct PatienceOptions {
  int64_t patience = 0;
  double min_delta = 0;
  NanRule nan = NanRule::kStop;
};

class PatienceScheduler final : public TrialScheduler {
 public:
  PatienceScheduler(const PatienceOptions& options, Mode mode) : options_(options), mode_(mode) {}

  void OnTrialAdded(TrialNumber trial) override { trials_.Add(trial); }
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override {}
  std::vector<Order> TakeOrders() override { return {}; }
  std::vector<RungView> Rungs() const override { return {}; }
  std::string name() const override { return "patience"; }
  std::string DebugString() const override;

 private:
  struct Trial {
    Metric best_before = {};     // Of the values before the recent ones.
    std::vector<double> recent;  // The last patience + 1, in a ring.
    size_t oldest = 0;
  };

  PatienceOptions options_;
  Mode mode_;
  TrialTable<Trial> trials_;
  int64_t stopped_count_ = 0;
};

// Options: patience (needed), min_delta (0); and nan. Errors carry "line:column: ".
Result<std::unique_ptr<TrialScheduler>> MakePatienceScheduler(const Value& options, Mode mode,
                                                              uint64_t seed);

}  // namespace tune
