// ASHA, the stopping form, by the rule of Ray's ASHAScheduler
// (python/ray/tune/schedulers/async_hyperband.py; the idea: Li et al., "A System for Massively
// Parallel Hyperparameter Tuning", MLSys 2020).
//
// A report fills the highest open rung at or below its iteration and closes the lower ones
// unfilled. Its value is compared with the values that OTHER trials put there before: the cutoff is
// their percentile (1 - 1/reduction_factor), counted from the worst, interpolated linearly; the
// trial stops if it is strictly worse. A tie continues and so does the first arrival. At max_t the
// trial stops whatever the value, which still fills its rung.
//
// Where this differs from Ray: rung levels come from integer multiplication and include max_t,
// where it is one; the percentile's position is an exact fraction; a skipped milestone is never
// filled afterwards; brackets are drawn with a key, not from a global generator. A report without a
// finite value is the worst of its rung and stops there (nan_rule.h); it does not stay in the rung,
// so that the others are measured against values alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedulers/brackets.h"
#include "schedulers/nan_rule.h"
#include "schedulers/ranked_values.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/trial_table.h"

namespace tune {

class AshaScheduler final : public TrialScheduler {
 public:
  // `name`: what the decisions are recorded under.
  AshaScheduler(std::string name, Brackets brackets, NanRule nan, Mode mode, uint64_t seed);

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override {}
  std::vector<Order> TakeOrders() override { return {}; }
  std::vector<RungView> Rungs() const override;
  std::string name() const override { return name_; }
  std::string DebugString() const override;

 private:
  struct Trial {
    bool is_live = false;
    bool was_added = false;
    uint32_t bracket = 0;
    uint32_t first_open = 0;  // The lowest rung that is neither filled nor closed.
  };

  // What a value must not be worse than, given the values of a rung; nothing while it is empty.
  std::optional<double> Cutoff(const RankedValues& values) const;

  std::string name_;
  Brackets brackets_;
  NanRule nan_;
  Mode mode_;
  uint64_t seed_;
  std::vector<std::vector<RankedValues>> rungs_;  // Of each bracket.
  TrialTable<Trial> trials_;
};

// Options, with Ray's names: variant (stop | promote), max_t, grace_period, reduction_factor,
// brackets, where 1 <= grace_period <= max_t, reduction_factor >= 2, 1 <= brackets <= number of
// rungs; paused_max of promote, nan of stop. Errors carry "line:column: ".
Result<std::unique_ptr<TrialScheduler>> MakeAshaScheduler(const Value& options, Mode mode,
                                                          uint64_t seed);
// Both require options that can be read.
std::optional<int64_t> AshaMaxT(const Value& options);
bool AshaPauses(const Value& options);

}  // namespace tune
