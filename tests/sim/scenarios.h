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

}  // namespace tune::sim
