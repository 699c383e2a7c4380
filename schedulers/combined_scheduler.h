// Several schedulers over the same trials: {combine: [{asha: {...}}, {threshold: {...}}]}. Each is
// told everything. A trial stops if one of them says so: one that reached a max_t before one that
// was judged, else the first in the list. It pauses if nobody stops it and one says so; only one of
// them may be of a kind that pauses, and its orders are the sweep's. What explains a decision is
// the word of the one that decided, or of the first that had something to compare.
//
// The pausing part is asked last, and hears of a report that stops its trial only the trial's end:
// a rung is never decided in favour of a trial that is over.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/trial_scheduler.h"

namespace tune {

class CombinedScheduler final : public TrialScheduler {
 public:
  struct Pausing {
    size_t part = 0;
    std::optional<int64_t> max_t = {};
  };
  // At least one part. `pausing`: the part that is asked last; nothing: all are asked in order.
  CombinedScheduler(std::vector<std::unique_ptr<TrialScheduler>> parts,
                    std::optional<Pausing> pausing);

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  Decision OnLastReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override;
  bool PausesAt(TrialNumber trial, int64_t iteration) const override;
  std::vector<Order> TakeOrders() override;
  std::vector<RungView> Rungs() const override;
  std::string name() const override;  // "asha+threshold".
  std::string DebugString() const override;

 private:
  // `hear`: OnReport, or OnLastReport.
  Decision Ask(Decision (TrialScheduler::*hear)(TrialNumber, int64_t, Metric), TrialNumber trial,
               int64_t iteration, Metric value);
  bool IsAskedLast(size_t part) const { return pausing_ && pausing_->part == part; }

  std::vector<std::unique_ptr<TrialScheduler>> parts_;
  std::optional<Pausing> pausing_;
  std::optional<TrialNumber> stopped_;  // The last one: no order can bring it back.
};

}  // namespace tune
