// The median stopping rule (Golovin et al., "Google Vizier", KDD 2017, section 3.2.2), as Ray's
// MedianStoppingRule reads it: at a report from grace_period on, the trial's best value so far is
// compared with the others' running means, each over the reports from grace_period to this
// iteration; the others are those that have come as far, whatever became of them. The trial stops
// if it is strictly worse than the median of at least min_samples_required of them.
//
// With hard_stop: false it pauses instead; when no trial is added any more and nobody else runs,
// what is paused is resumed and runs to its end.
//
// Time is the iteration. A report without a finite value counts in no mean and, where others are
// compared, is the worst (nan_rule.h). A decision names its iteration as its rung.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schedulers/nan_rule.h"
#include "schedulers/ranked_values.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/trial_table.h"

namespace tune {

struct MedianStoppingOptions {
  int64_t grace_period = 1;
  int64_t min_samples_required = 3;
  bool hard_stop = true;
  NanRule nan = NanRule::kStop;
};

class MedianStoppingScheduler final : public TrialScheduler {
 public:
  MedianStoppingScheduler(const MedianStoppingOptions& options, Mode mode);

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override;
  std::vector<Order> TakeOrders() override;
  std::vector<RungView> Rungs() const override { return {}; }
  std::string name() const override { return "median_stopping"; }
  std::string DebugString() const override;

 private:
  enum class State { kOver, kRunning, kPaused };
  // Up to an iteration.
  struct Point {
    int64_t iteration = 0;
    double sum = 0;
    int64_t count = 0;  // Of values.
  };
  struct Trial {
    State state = State::kOver;
    bool is_spared = false;  // Resumed: it runs to its end.
    Metric best = {};
    std::vector<Point> points;
  };

  static Metric MeanAt(const Trial& trial, int64_t iteration);
  // The means of all trials but this one that have come as far.
  RankedValues& MeansAt(int64_t iteration, TrialNumber but);
  void Advance(Trial& trial, int64_t iteration, Metric value);
  void ResumeIfAlone();

  MedianStoppingOptions options_;
  Mode mode_;
  TrialTable<Trial> trials_;
  std::map<int64_t, RankedValues> means_;  // By iteration; of those that somebody reported.
  std::vector<Order> orders_;
  int64_t running_count_ = 0;
  int64_t stopped_count_ = 0;
  bool no_more_trials_ = false;
};

// Options as in Ray: grace_period (1), min_samples_required (3), hard_stop (true); and nan. Errors
// carry "line:column: ".
Result<std::unique_ptr<TrialScheduler>> MakeMedianStoppingScheduler(const Value& options, Mode mode,
                                                                    uint64_t seed);
// Requires options that can be read.
bool MedianStoppingPauses(const Value& options);

}  // namespace tune
