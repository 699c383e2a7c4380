// Several schedulers over the same trials: {combine: [{asha: {...}}, {threshold: {...}}]}. Each is
// told everything. A trial stops if one of them says so: one that reached a max_t before one that
// was judged, else the first in the list. It pauses if nobody stops it and one says so; only one of
// them may be of a kind that pauses, and its orders are the sweep's. What explains a decision is
// the word of the one that decided, or of the first that had something to compare.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/trial_scheduler.h"

namespace tune {

class CombinedScheduler final : public TrialScheduler {
 public:
  // At least one part.
  explicit CombinedScheduler(std::vector<std::unique_ptr<TrialScheduler>> parts);

  void OnTrialAdded(TrialNumber trial) override;
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) override;
  void OnTrialEnded(TrialNumber trial, bool failed) override;
  void OnNoMoreTrials() override;
  bool PausesAt(TrialNumber trial, int64_t iteration) const override;
  std::vector<Order> TakeOrders() override;
  std::vector<RungView> Rungs() const override;
  std::string name() const override;  // "asha+threshold".
  std::string DebugString() const override;

 private:
  std::vector<std::unique_ptr<TrialScheduler>> parts_;
  std::optional<TrialNumber> stopped_;  // The last one: no order can bring it back.
};

}  // namespace tune
