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
// value closes its rung, is compared with nothing, and continues. Infinities are values like
// others; a percentile that falls between an infinity and another value is the worse of both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedulers/ranked_values.h"
#include "schedulers/trial_scheduler.h"

namespace tune {

// Names as in Ray. 1 <= grace_period <= max_t, reduction_factor >= 2, 1 <= brackets <= number of
// rungs.
struct AshaOptions {
  int64_t max_t = 100;
  int64_t grace_period = 1;
  int64_t reduction_factor = 4;
  int64_t brackets = 1;
};

class AshaScheduler final : public TrialScheduler {
 public:
  AshaScheduler(const AshaOptions& options, Mode mode, uint64_t seed);

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override {}
  std::vector<Order> TakeOrders() override { return {}; }
  std::vector<RungView> Rungs() const override;
  std::string name() const override { return "asha"; }
  std::string DebugString() const override;

 private:
  struct Rung {
    int64_t milestone = 0;
    RankedValues values;
  };
  using Bracket = std::vector<Rung>;  // Rising milestones.
  struct Trial {
    bool is_live = false;
    bool was_added = false;
    uint32_t bracket = 0;
    uint32_t first_open = 0;  // The lowest rung that is neither filled nor closed.
  };

  // Bracket s leaves out the s lowest rungs; it has the weight exp(its number of rungs), as in Ray.
  uint32_t DrawBracket(TrialNumber trial) const;
  // What a value must not be worse than, given the values of a rung; nothing while it is empty.
  std::optional<double> Cutoff(const RankedValues& values) const;

  AshaOptions options_;
  Mode mode_;
  uint64_t seed_;
  std::vector<Bracket> brackets_;
  std::vector<Trial> trials_;  // By number.
};

}  // namespace tune
