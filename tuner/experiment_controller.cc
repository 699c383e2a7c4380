#include "tuner/experiment_controller.h"

#include <utility>

namespace tune {

ExperimentController::ExperimentController(ControllerOptions options,
                                           std::unique_ptr<Searcher> searcher,
                                           std::unique_ptr<TrialScheduler> scheduler)
    : SweepView(controller_, {}),
      sweep_(controller_.Enlist({}, std::move(options), std::move(searcher), std::move(scheduler))
                 .sweep) {}

Transition ExperimentController::Apply(const std::vector<Event>& events, Instant now) {
  std::vector<HeadEvent> of_the_sweep;
  of_the_sweep.reserve(events.size());
  for (const Event& event : events) of_the_sweep.push_back({event});
  HeadTransition step = controller_.Apply(of_the_sweep, now);
  Transition transition = std::move(step.sweeps.at({}));
  transition.actions = std::move(step.actions);
  return transition;
}

}  // namespace tune
