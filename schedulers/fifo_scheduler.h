// Every trial runs to its own end.
#pragma once

#include <string>
#include <vector>

#include "schedulers/trial_scheduler.h"

namespace tune {

class FifoScheduler final : public TrialScheduler {
 public:
  void OnTrialAdded(TrialNumber) override {}
  Decision OnReport(TrialNumber, int64_t, Metric) override { return Decision{}; }
  void OnTrialEnded(TrialNumber, bool) override {}
  void OnNoMoreTrials() override {}
  std::vector<Order> TakeOrders() override { return {}; }
  std::vector<RungView> Rungs() const override { return {}; }
  std::string name() const override { return "fifo"; }
  std::string DebugString() const override { return "fifo"; }
};

}  // namespace tune
