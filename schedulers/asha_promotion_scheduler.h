// ASHA, the promoting form: Algorithm 2 of Li et al., "A System for Massively Parallel
// Hyperparameter Tuning", MLSys 2020.
//
// A trial pauses at each milestone of its bracket. Of the n trials that finished a rung the
// floor(n / reduction_factor) best are promoted: each is resumed the moment that it is among them,
// be it at its own report (the pause's own line is then followed by its resume) or at another's,
// and once for each rung. What is paused stays so until then, however late; so a sweep that is
// extended promotes on. At max_t the trial stops.
//
// The paper asks at each free worker and scans from the highest rung; here a promotion is earned at
// the event that makes it possible, and as one event adds to one rung, nothing is left to scan. Who
// is promoted does not depend on when workers are free.
//
// Ties: the earlier trial is the better one. A trial that fails on its way to a rung counts there
// as finished and worst (as Determined does it), until it gets another chance; so does one whose
// report has no value. Neither is ever promoted from it. One that was ended while it was paused
// keeps its place among the n and is not promoted. A milestone that was skipped is closed unfilled.
//
// `paused_max` bounds how many trials are paused, and with them the checkpoints that are kept: the
// worst of the lowest rung is stopped for each one too many (without a value before all others, of
// equals the later one). It may be the one that has just paused.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "schedulers/brackets.h"
#include "schedulers/ranked_trials.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/trial_table.h"

namespace tune {

class AshaPromotionScheduler final : public TrialScheduler {
 public:
  // `name`: what the decisions are recorded under. `paused_max`: at least 1, or no limit.
  AshaPromotionScheduler(std::string name, Brackets brackets, std::optional<int64_t> paused_max,
                         Mode mode, uint64_t seed);

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  Decision OnLastReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override {}  // What is paused then may be promoted by what still runs.
  bool PausesAt(TrialNumber trial, int64_t iteration) const override;
  std::vector<Order> TakeOrders() override;
  std::vector<RungView> Rungs() const override;
  std::string name() const override { return name_; }
  std::string DebugString() const override;

  // For those who decide which rungs there are. A closed rung promotes nobody; when it is opened
  // again it makes up for that. Both are of all brackets; orders are taken as ever.
  void CloseRung(uint32_t rung);
  void OpenRung(uint32_t rung);

 private:
  enum class State : uint8_t { kNew, kRunning, kPaused, kOver };
  struct Trial {
    State state = State::kNew;
    bool counts_as_failed = false;  // In its first open rung.
    uint16_t bracket = 0;
    uint32_t first_open = 0;  // The lowest rung that is neither filled nor closed.
    Metric value = {};        // In the rung below it.
  };
  struct Rung {
    Rung(int64_t milestone_at, Mode mode) : milestone(milestone_at), finished(mode) {}
    int64_t milestone;
    RankedTrials finished;
    int64_t valueless_count = 0;  // Finished too, and worst.
    bool is_open = true;
    int64_t count() const { return static_cast<int64_t>(finished.size()) + valueless_count; }
  };
  // In the order in which paused trials are given up: the milestone, whether there is a value, that
  // value (the larger the better), the trial from the last.
  using PausedKey = std::tuple<int64_t, bool, double, int64_t>;

  // Those of a rung that are promoted.
  struct Passing {
    size_t count = 0;
    std::optional<RankedTrials::Entry> last = {};  // The worst of them.
    std::optional<double> cutoff() const {
      return last ? std::optional(last->value) : std::nullopt;
    }
  };

  Passing PassingOf(const Rung& rung) const;
  // Resumes the trial at this place of a rung, if it waits there.
  void Promote(const Rung& rung, const Passing& passing, size_t place,
               const RankedTrials::Entry& entry);
  void PromoteLast(const Rung& rung, const Passing& passing);
  PausedKey KeyOf(TrialNumber trial) const;
  void Pause(TrialNumber trial);
  void Unpause(TrialNumber trial, State state);
  void StopWorst();

  std::string name_;
  Brackets brackets_;
  std::optional<int64_t> paused_max_;
  Mode mode_;
  uint64_t seed_;
  std::vector<std::vector<Rung>> rungs_;  // Of each bracket.
  TrialTable<Trial> trials_;
  std::vector<Order> orders_;
  std::set<PausedKey> paused_;  // Kept where there is a limit.
};

}  // namespace tune
