// The controller of one sweep and of workers that are its own: they go home with it. What a tuner
// of one sweep needs of a controller (controller.h), without numbers of sweeps.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/controller.h"
#include "tuner/sweep_view.h"

namespace tune {

class ExperimentController : public SweepView {
 public:
  ExperimentController(ControllerOptions options, std::unique_ptr<Searcher> searcher,
                       std::unique_ptr<TrialScheduler> scheduler);
  ExperimentController(const ExperimentController&) = delete;
  ExperimentController& operator=(const ExperimentController&) = delete;

  // As of Sweep.
  void RestoreSuggestions(std::vector<std::pair<TrialNumber, Configuration>> suggestions) {
    sweep_.RestoreSuggestions(std::move(suggestions));
  }
  void Offer(OfferedToWorkers offered) { sweep_.Offer(std::move(offered)); }

  // The controller itself.
  Controller& head() { return controller_; }
  const Controller& head() const { return controller_; }
  // As of Controller.
  Transition Apply(const std::vector<Event>& events, Instant now);
  std::optional<Instant> NextDeadline() const { return controller_.NextDeadline(); }
  Transition Follow(const std::vector<SweepEvent>& stream) {
    return controller_.Follow({}, stream);
  }
  Status RestoreCluster(const std::vector<WorkerRow>& workers) {
    return controller_.RestoreCluster(workers);
  }
  void WriteAllWorkers() { controller_.WriteAllWorkers(); }
  std::optional<std::string> BrokenInvariant() const { return controller_.BrokenInvariant(); }

 private:
  Controller controller_;
  Sweep& sweep_;  // The only one, of the number 0.
};

}  // namespace tune
