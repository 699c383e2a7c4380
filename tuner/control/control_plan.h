// A command, looked at by the tuner before it becomes an event: whether it can be done, and what to
// say of it. And the same for a sweep that no tuner runs.
//
// Thread rule: pure functions, but for ControlAtRest: the thread of the store.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "tuner/artifact_store.h"
#include "tuner/cluster.h"
#include "tuner/control/control_request.h"
#include "tuner/event.h"
#include "tuner/store.h"
#include "tuner/sweep_view.h"

namespace tune {

struct ControlPlan {
  Event event;
  std::vector<std::string> lines;  // What will happen, for a person.
};

// kNotFound: no such trial. kFailedPrecondition: there is one, but it is over, paused already, not
// paused; the sweep is over or about to be. `is_alive`: a tuner runs the sweep.
Result<ControlPlan> PlanControl(const ControlRequest& request, const SweepView& view,
                                bool is_alive);

// tune drain, of a tuner's workers, whatever their sweeps are. kNotFound names those of other
// machines.
Result<ControlPlan> PlanDrain(const std::string& worker, const Cluster& cluster);

// Does what is asked on a stored sweep that no tuner runs; the caller holds the writer's lock. One
// step of the journal: attempts of the earlier life end as lost, as they do at a resume, then the
// command, and the sweep is INTERRUPTED again (STOPPED after `stop`). Returns what was done, for a
// person.
Result<std::vector<std::string>> ControlAtRest(const ControlRequest& request,
                                               const StoredExperiment& experiment,
                                               const std::string& artifacts_dir, Store& store,
                                               ArtifactStore& artifacts, Instant now);

}  // namespace tune
