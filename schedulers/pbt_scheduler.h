// Population based training (Jaderberg et al., arXiv 1711.09846), by the rule of Ray's
// PopulationBasedTraining (python/ray/tune/schedulers/pbt.py).
//
// The population is every trial that is added and not over. A trial is looked at
// perturbation_interval iterations after it was last, and not before burn_in_period; its value then
// is its score. Of n trials with a score the ceil(n * quantile_fraction) worst and best, at most
// half of them each, are the bottom and the top. A trial of the bottom pauses and is ordered to
// exploit one of the top, drawn with a key; so it may happen many times in a trial's life. The new
// configuration is not made here (search/perturb.h, with the options of SchedulerExplore).
//
// With synch: true every trial pauses when it is due; when all are paused and no trial is added any
// more, all are ranked at once: the bottom exploits, the others are resumed. It is the form for
// sweeps with fewer places than trials, and it needs an end of `samples`: without it, trials of a
// population that never overlap cannot learn from each other.
//
// Ties: the earlier trial is the better one. A trial without a value is the worst and is never
// exploited, nor is one that is over, whether it failed or completed. A decision names its
// iteration as its rung, and as its cutoff the value of the worst that is not of the bottom.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "schedulers/ranked_trials.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/trial_table.h"

namespace tune {

// Names as in Ray; time is the iteration.
struct PbtOptions {
  int64_t perturbation_interval = 5;
  int64_t burn_in_period = 0;
  double quantile_fraction = 0.25;  // 0 .. 0.5.
  bool synch = false;
  ExploreOptions explore;
};

class PbtScheduler final : public TrialScheduler {
 public:
  PbtScheduler(const PbtOptions& options, Mode mode, uint64_t seed);

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  Decision OnLastReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override;
  bool PausesAt(TrialNumber trial, int64_t iteration) const override;
  std::vector<Order> TakeOrders() override;
  std::vector<RungView> Rungs() const override { return {}; }
  std::string name() const override { return "pbt"; }
  std::string DebugString() const override;

 private:
  enum class State { kNew, kRunning, kPaused, kOver };
  struct Trial {
    State state = State::kNew;
    bool has_score = false;
    Metric score = {};
    int64_t looked_at = 0;  // Iteration.
    uint64_t exploit_count = 0;
  };

  bool IsDue(const Trial& trial, int64_t iteration) const;
  size_t scored_count() const { return ranked_.size() + valueless_.size(); }
  size_t QuantileCount() const;  // Of the bottom, and of the top.
  // Returns its place, 0 for the best.
  size_t SetScore(TrialNumber trial, Metric score);
  void ForgetScore(TrialNumber trial);
  // Orders it to exploit, if its place is of the bottom and somebody is worth it.
  bool Exploit(TrialNumber trial, size_t place);
  // What explains a decision about the trial.
  template <typename Explained>
  void Explain(TrialNumber trial, Explained& explained) const;
  void RankAllIfSynchronous();

  PbtOptions options_;
  uint64_t seed_;
  TrialTable<Trial> trials_;
  // Those with a score that are not over: by value, and those without one.
  RankedTrials ranked_;
  std::set<TrialNumber> valueless_;
  std::vector<Order> orders_;
  int64_t running_count_ = 0;
  uint64_t exploit_count_ = 0;
  bool no_more_trials_ = false;
};

// Options: perturbation_interval (5), burn_in_period (0), quantile_fraction (0.25), synch (false),
// and those of ExploreOptions: resample_probability (0.25), perturbation_factors ([1.2, 0.8]),
// hyperparam_mutations (names of parameters; all that have a domain). Errors carry "line:column: ".
Result<std::unique_ptr<TrialScheduler>> MakePbtScheduler(const Value& options, Mode mode,
                                                         uint64_t seed);
// Requires options that can be read.
ExploreOptions PbtExplore(const Value& options);

}  // namespace tune
