// Where a living sweep's commands are served, between the steps of its loop.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "trial_runner/package/artifact_depot.h"
#include "tuner/control/control_server.h"
#include "tuner/event_queue.h"
#include "tuner/sweep_view.h"
#include "tuner/tuner.h"

namespace tune {

class ControlDesk {
 public:
  // Listens in `folder` (<db stem>.artifacts) from now on. All others outlive it. `queue` is woken
  // when there is something to serve. `depot`: null where no worker sends checkpoints.
  ControlDesk(const std::string& folder, const SweepView& view, Tuner& tuner, EventQueue& queue,
              const Clock& clock, ArtifactDepot* depot);

  // Why nobody can reach it; the sweep goes on without.
  const Status& status() const { return status_; }

  // Looks at each request that has come, takes it as a step of its own, and answers. An error is
  // Tuner::Step's: nothing of the last one is durable, and who asked for it is told so.
  Status Serve();

  // What was done on demand since the last call, for the person who watches.
  std::vector<std::string> TakeLines();

 private:
  Status ServeOne(const ControlServer::Arrival& arrival);
  ControlAnswer Tell(ControlVerb verb) const;
  std::vector<std::string> DeviceLines() const;

  const SweepView& view_;
  Tuner& tuner_;
  ArtifactDepot* const depot_;
  Status status_;
  std::vector<std::string> lines_;
  std::unique_ptr<ControlServer> server_;
};

}  // namespace tune
