// Messages and events in words, for who reads along.
#pragma once

#include <string>

#include "trial_runner/messages.h"
#include "tuner/event.h"

namespace tune::sim {

std::string Describe(const AttemptRef& ref);
std::string Describe(const FromWorker& message);
std::string Describe(const ToWorker& message);
// What kind of thing happened: "a report arrived".
const char* NameOf(const Event& event);

}  // namespace tune::sim
