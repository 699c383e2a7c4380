#include "tuner/experiment_controller.h"

#include <algorithm>
#include <utility>

namespace tune {

ExperimentController::ExperimentController(ControllerOptions options,
                                           std::unique_ptr<Searcher> searcher,
                                           std::unique_ptr<TrialScheduler> scheduler)
    : sweep_(controller_.Enlist({}, std::move(options), std::move(searcher), std::move(scheduler))
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

bool ExperimentController::HasLocalWorker() const {
  const std::vector<WorkerView> views = leases().Views();
  return std::any_of(views.begin(), views.end(), [this](const WorkerView& view) {
    return cluster().workers().At(view.worker).row.is_local;
  });
}

std::string ExperimentController::WorkerName(WorkerId worker) const {
  return cluster().workers().NameOf(worker);
}

}  // namespace tune
