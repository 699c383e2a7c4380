// Two that decide beside a simulated tuner, and never die. One is a controller that is told what
// came in: what the tuner decides after its recoveries, and tells its sweep, must be the same. The
// other is a sweep that is told nothing but the text of its stream (tuner/sweep_event.h): its rows
// and messages must be the same, since a sweep is gone on with from its stream alone.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/planted_faults.h"
#include "tuner/experiment_controller.h"
#include "tuner/experiment_spec.h"
#include "tuner/store.h"

namespace tune::sim {

class Shadows {
 public:
  // Of a sweep that has just been stored.
  static Result<Shadows> Make(const StoredExperiment& experiment, const ExperimentSpec& spec,
                              const std::string& artifacts_dir);

  // A step that the tuner committed: what came in, and the digest of what it led to. Returns a
  // sentence where either comes to something else.
  std::optional<std::string> Follow(const JournalStep& step, const std::vector<Event>& events,
                                    const std::string& digest, PlantedFault planted);

  const ExperimentController& controller() const { return *controller_; }

 private:
  Shadows() = default;
  std::optional<std::string> FollowStream(const std::string& text, const Transition& transition,
                                          PlantedFault planted);

  std::unique_ptr<ExperimentController> controller_;
  std::unique_ptr<ExperimentController> of_stream_;  // Its sweep alone is asked.
  bool follows_older_build_ = false;                 // The step before was journalled by one.
};

}  // namespace tune::sim
