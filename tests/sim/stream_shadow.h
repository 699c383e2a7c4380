// A sweep that is told nothing but its stream, beside one that a controller leads: its rows and
// messages must be the same, since a sweep is to be gone on with from its stream alone
// (tuner/sweep_event.h).
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/recovery.h"
#include "tuner/sweep.h"
#include "tuner/transition.h"

namespace tune::sim {

class StreamShadow {
 public:
  explicit StreamShadow(SweepParts parts);

  // A step: what the controller told its sweep, and what the step led to. Returns a sentence where
  // this one comes to something else.
  std::optional<std::string> Follow(const std::vector<SweepEvent>& stream,
                                    const Transition& transition);

 private:
  Transition out_;
  Sweep sweep_;
};

}  // namespace tune::sim
