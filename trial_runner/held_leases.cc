#include "trial_runner/held_leases.h"

namespace tune {

void HeldLeases::OnHeard(const FromWorker& message) {
  if (const auto* const hello = std::get_if<Hello>(&message)) {
    for (const HeldAttempt& held : hello->held) held_.insert(held.ref);
  } else if (const auto* const ended = std::get_if<AttemptEnded>(&message)) {
    held_.erase(ended->ref);
    killed_.erase(ended->ref);
  }
}

// An attempt that is to end in order may still save what it has.
void HeldLeases::OnSent(const std::vector<ToWorker>& messages) {
  for (const ToWorker& message : messages) {
    if (std::holds_alternative<Welcome>(message)) {
      is_welcome_ = true;
    } else if (const auto* const start = std::get_if<StartAttempt>(&message)) {
      held_.insert(start->ref);
    } else if (const auto* const kill = std::get_if<KillAttempt>(&message)) {
      if (kill->at_once && held_.erase(kill->ref) > 0) killed_.insert(kill->ref);
    }
  }
}

}  // namespace tune
