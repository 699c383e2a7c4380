#include "tests/sim/stream_shadow.h"

#include <utility>
#include <variant>

#include "tests/sim/digest.h"

namespace tune::sim {
namespace {

// What trials are told: a refusal may be the controller's, of a lease that no sweep knows.
bool IsOfSweep(const Action& action) {
  if (std::holds_alternative<RemoveCheckpoint>(action)) return true;
  const auto* const send = std::get_if<SendToWorker>(&action);
  if (send == nullptr) return false;
  const auto* const answer = std::get_if<AnswerReport>(&send->message);
  if (answer != nullptr) return answer->answer != ReportAnswer::kRefused;
  return std::holds_alternative<StartAttempt>(send->message) ||
         std::holds_alternative<KillAttempt>(send->message);
}

// Without what is the cluster's.
Transition OfSweep(Transition transition) {
  transition.workers.clear();
  std::erase_if(transition.actions, [](const Action& action) { return !IsOfSweep(action); });
  return transition;
}

}  // namespace

StreamShadow::StreamShadow(SweepParts parts)
    : sweep_(std::move(parts.options), std::move(parts.searcher), std::move(parts.scheduler),
             out_) {}

std::optional<std::string> StreamShadow::Follow(const std::vector<SweepEvent>& stream,
                                                const Transition& transition) {
  for (const SweepEvent& event : stream) {
    sweep_.Apply(event);
    sweep_.TakeWishes();  // They were heard.
  }
  sweep_.CheckInvariants();
  sweep_.Conclude();
  if (const auto broken = sweep_.BrokenInvariant()) return "by its stream alone, " + *broken;
  const Transition own = std::exchange(out_, Transition{});
  if (Digest(OfSweep(own)) == Digest(OfSweep(transition))) return std::nullopt;
  return "the sweep's stream alone leads to other rows or messages";
}

}  // namespace tune::sim
