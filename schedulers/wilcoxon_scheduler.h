// Optuna's WilcoxonPruner (optuna/pruners/_wilcoxon.py), for values over folds, instances or
// rounds: iteration 3 of each trial is about the same data, and values differ more between
// iterations than between trials. A trial stops if, over the iterations that both have, it is worse
// than the best completed trial with a one-sided p below p_threshold (signed_ranks.h).
//
// The best completed trial is the one with the best mean of its values; a trial completes by ending
// without failure, unless this rule stopped it. As in Optuna, a trial whose own mean so far is at
// least as good as that of the best goes on, however small p is, and so does a trial where either
// has a value that is not finite (nan: continue; with nan: stop a trial with such a value stops).
// Repeated looks find a difference more often than p_threshold says.
//
// With `running_mean: true` the values are means of all folds so far, as many programs report them;
// the folds' own are found again by m_t t - m_(t-1) (t - 1), where a trial reports each iteration.
//
// A decision names its iteration as its rung, and as its cutoff the mean of the best trial's values
// at the iterations compared; its rank is 2 of 2, or 1.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/nan_rule.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/trial_table.h"

namespace tune {

// Names and defaults as in Optuna, but for the last two.
struct WilcoxonOptions {
  double p_threshold = 0.1;
  int64_t n_startup_steps = 2;
  bool running_mean = false;
  NanRule nan = NanRule::kContinue;
};

class WilcoxonScheduler final : public TrialScheduler {
 public:
  WilcoxonScheduler(const WilcoxonOptions& options, Mode mode) : options_(options), mode_(mode) {}

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override {}
  std::vector<Order> TakeOrders() override { return {}; }
  std::vector<RungView> Rungs() const override { return {}; }
  std::string name() const override { return "wilcoxon"; }
  std::string DebugString() const override;

 private:
  struct Trial {
    bool was_stopped = false;
    bool has_other_values = false;     // NaN or infinite.
    std::map<int64_t, double> values;  // By iteration.
    double sum_before = 0;             // Of running means.
    int64_t iterations_before = 0;
  };

  static double MeanOf(const std::map<int64_t, double>& values);
  // Nothing: it reports running means and left an iteration out.
  std::optional<double> OwnOf(Trial& trial, int64_t iteration, double value) const;

  WilcoxonOptions options_;
  Mode mode_;
  TrialTable<Trial> trials_;
  std::map<int64_t, double> best_;  // The values of the best completed trial; empty: none.
  int64_t stopped_count_ = 0;
};

// Options: p_threshold (0.1), n_startup_steps (2), running_mean (false); and nan (continue). Errors
// carry "line:column: ".
Result<std::unique_ptr<TrialScheduler>> MakeWilcoxonScheduler(const Value& options, Mode mode,
                                                              uint64_t seed);

}  // namespace tune
