#include "tuner/engines/demand.h"

#include "tuner/controller.h"

namespace tune {

std::vector<WorkerDemand> DemandOf(const Controller& controller, Instant now) {
  std::vector<WorkerDemand> demand;
  for (const ExperimentId id : controller.giver().Turn()) {
    const OpenSweep& open = controller.sweeps().at(id);
    for (const RoomWanted& wanted : open.sweep.WantsRoomFor(now)) {
      demand.push_back({open.sweep.options().name, wanted.request, wanted.count,
                        open.UnfitWorkers(), wanted.takes, wanted.running});
    }
  }
  return demand;
}

std::vector<JoinedWorker> JoinedOf(const Controller& controller) {
  std::vector<JoinedWorker> joined;
  const Cluster& cluster = controller.cluster();
  for (WorkerView& view : cluster.leases().Views()) {
    JoinedWorker worker;
    worker.name = cluster.workers().NameOf(view.worker);
    worker.is_busy = cluster.leases().HoldsAny(view.worker);
    worker.is_away = cluster.leases().IsAway(view.worker);
    // One that is away is granted nothing, as if it left.
    worker.is_leaving = view.is_draining && !worker.is_away;
    worker.view = std::move(view);
    joined.push_back(std::move(worker));
  }
  return joined;
}

}  // namespace tune
