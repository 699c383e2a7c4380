// PASHA (Bohdal et al., "PASHA: Efficient HPO and NAS with Progressive Resource Allocation", ICLR
// 2023): ASHA's promoting form that grows as it has to. It begins with the two lowest rungs, and
// what came to the upper one waits there. Each time that a trial comes to the top rung, the trials
// that are there are ranked by their values there and by those at the rung below. If the two
// rankings disagree, the top rung is opened and the next one becomes the top; above the last one
// there is max_t.
//
// Rankings are compared softly: at no place may stand a trial whose value at the rung below is
// further than epsilon from that of the trial which was at this place there. A given epsilon is in
// units of the metric. Without one it is the 90th percentile, linearly interpolated, of how far
// apart at the top two trials are whose curves have crossed twice: a measure of noise (section 4.2
// of the paper; its authors' code looks at trials between the rungs as well). It is 0 until there
// are such two.
//
// Trials without a value at one of the two rungs, or that skipped one, are not ranked. All else is
// as in AshaPromotionScheduler.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/asha_promotion_scheduler.h"
#include "schedulers/brackets.h"
#include "schedulers/ranked_values.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/trial_table.h"

namespace tune {

struct PashaOptions {
  LadderOptions ladder;
  std::optional<double> epsilon;  // At least 0; measured where there is none.
  std::optional<int64_t> paused_max;
};

class PashaScheduler final : public TrialScheduler {
 public:
  PashaScheduler(const PashaOptions& options, Mode mode, uint64_t seed);

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  Decision OnLastReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override { asha_.OnTrialEnded(trial, failed); }
  void OnNoMoreTrials() override { asha_.OnNoMoreTrials(); }
  bool PausesAt(TrialNumber trial, int64_t iteration) const override {
    return asha_.PausesAt(trial, iteration);
  }
  std::vector<Order> TakeOrders() override { return asha_.TakeOrders(); }
  std::vector<RungView> Rungs() const override;  // Up to the top.
  std::string name() const override { return "pasha"; }
  std::string DebugString() const override;

 private:
  struct Curve {
    std::vector<std::pair<int64_t, double>> values;  // By iteration.
    std::map<int64_t, double> at_rungs;              // By milestone.
  };
  // One that came to the top, with its values there and at the rung below.
  struct Climber {
    TrialNumber trial;
    double at_top = 0;
    double below = 0;
  };

  // Both require that there is a rung below the top.
  void MeasureNoise(TrialNumber arrived);
  bool IsRankingStable() const;
  void Grow();

  AshaPromotionScheduler asha_;
  std::vector<int64_t> milestones_;
  int64_t max_t_;
  std::optional<double> given_epsilon_;
  Mode mode_;
  // Of milestones_; beyond them when all are open, and where there is but one.
  uint32_t top_ = 1;
  TrialTable<Curve> curves_;
  std::vector<Climber> climbers_;
  double epsilon_ = 0;
  RankedValues distances_{Mode::kMax};  // Of pairs that crossed twice.
};

// Options: max_t, grace_period, reduction_factor and paused_max as asha has them; epsilon: a number
// of 0 or more. Errors carry "line:column: ".
Result<std::unique_ptr<TrialScheduler>> MakePashaScheduler(const Value& options, Mode mode,
                                                           uint64_t seed);
// Requires options that can be read.
std::optional<int64_t> PashaMaxT(const Value& options);

}  // namespace tune
