// Hyperband, whose trials wait for each other (Li et al., "Hyperband: A Novel Bandit-Based Approach
// to Hyperparameter Optimization", JMLR 18-185, 2018).
//
// Trials fill one bracket after the other, that with the most halvings first, and again from it
// when all were filled. A bracket with s halvings is planned for BracketSize(s) trials; each pauses
// at the bracket's milestone, and when nobody of it runs any more the rung is decided: of the n
// that entered it the floor(n / reduction_factor) best of those that wait go on to the next
// milestone (one at least), the others are stopped. Ties: the earlier trial is the better one. The
// milestones are the whole parts of max_t / reduction_factor^i, so that the last one is always
// max_t, where a trial stops.
//
// Nothing hangs: who fails or ends leaves the rung, and is waited for no longer; a bracket that is
// not full is closed by OnNoMoreTrials. A report beyond the milestone is the milestone's; one that
// goes beyond the next one as well pauses there at its next report. A report without a value is the
// worst and does not go on. A trial that failed and gets another chance rejoins its rung if that is
// still undecided, else the bracket that is being filled.
//
// Where this differs from Ray: it keeps the floor, as the paper does, not the ceiling; brackets are
// filled from the one with the most halvings; a bracket that could not be filled is halved by what
// is in it; milestones reach max_t.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedulers/ranked_trials.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/trial_table.h"

namespace tune {

class HyperbandScheduler final : public TrialScheduler {
 public:
  // max_t >= 1, reduction_factor >= 2.
  HyperbandScheduler(int64_t max_t, int64_t reduction_factor, Mode mode);

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  Decision OnLastReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override;
  bool PausesAt(TrialNumber trial, int64_t iteration) const override;
  std::vector<Order> TakeOrders() override;
  // Over all brackets with the same milestones; the cutoff is that of the last decision.
  std::vector<RungView> Rungs() const override;
  std::string name() const override { return "hyperband"; }
  std::string DebugString() const override;

 private:
  enum class State { kNew, kRunning, kPaused, kOver };
  struct Trial {
    State state = State::kNew;
    size_t bracket = 0;
    size_t rung = 0;            // That it is on its way to, or waits at.
    bool has_reported = false;  // There.
    Metric value = {};
  };
  // One that is being played; its present rung.
  struct Bracket {
    Bracket(size_t lowest_rung, int64_t planned, Mode mode)
        : lowest(lowest_rung), size_planned(planned), rung(lowest_rung), finished(mode) {}
    size_t lowest;  // Of levels_.
    int64_t size_planned;
    bool is_closed = false;  // Nobody joins it any more.
    size_t rung;
    int64_t entered_count = 0;
    int64_t running_count = 0;
    RankedTrials finished;               // Those that wait.
    std::vector<TrialNumber> valueless;  // They wait too.
  };

  void Join(TrialNumber trial);
  void DecideIfComplete(Bracket& bracket);
  std::vector<TrialNumber> Waiting(const Bracket& bracket) const;
  Order OrderFor(Order::Kind kind, TrialNumber trial) const;

  std::vector<int64_t> levels_;  // Of all brackets; each leaves out the lowest ones.
  int64_t reduction_factor_;
  Mode mode_;
  TrialTable<Trial> trials_;
  std::vector<Bracket> brackets_;
  std::vector<std::vector<RungView>> views_;  // By lowest rung.
  std::vector<Order> orders_;
};

// Options: max_t (81), reduction_factor (3), variant: sync, as above; async, in which nobody waits:
// ASHA's stopping form over Hyperband's brackets, each trial in one drawn in proportion to their
// sizes; or async_promote, ASHA's promoting form over them, with its paused_max. Errors carry
// "line:column: ".
Result<std::unique_ptr<TrialScheduler>> MakeHyperbandScheduler(const Value& options, Mode mode,
                                                               uint64_t seed);
// Both require options that can be read.
std::optional<int64_t> HyperbandMaxT(const Value& options);
bool HyperbandPauses(const Value& options);

}  // namespace tune
