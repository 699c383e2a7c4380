// What a transition says, whole, so that two of them can be compared.
#pragma once

#include <string>

#include "tuner/store.h"

namespace tune::sim {

// Every field of the rows and actions, as text: equal if and only if the transitions are.
std::string Digest(const Transition& transition);

}  // namespace tune::sim
