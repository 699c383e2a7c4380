// Scripted lives, each about one promise, with what must come of it.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace tune::sim {

struct Scenario {
  const char* name;  // A sentence.
  // What was found wrong, empty: nothing.
  std::string (*run)(bool is_verbose);
};

const std::vector<Scenario>& AllScenarios();

// A worker is frozen for longer than its lease and wakes up while another one runs its trials: what
// it says then is from the dead.
Swarm FrozenBeyondItsLease();

}  // namespace tune::sim
