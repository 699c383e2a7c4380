#include "tests/sim/shadows.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "tests/sim/digest.h"
#include "tests/sim/planted_parts.h"
#include "tuner/recovery.h"

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

Result<Shadows> Shadows::Make(const StoredExperiment& experiment, const ExperimentSpec& spec,
                              const std::string& artifacts_dir) {
  Shadows shadows;
  for (auto* const one : {&shadows.controller_, &shadows.of_stream_}) {
    TUNE_ASSIGN_OR_RETURN(*one,
                          MakeController(spec, experiment.seed, experiment.name, artifacts_dir));
  }
  return shadows;
}

std::optional<std::string> Shadows::Follow(const JournalStep& step,
                                           const std::vector<Event>& events,
                                           const std::string& digest, PlantedFault planted) {
  const bool is_stream = IsStream(step.events);
  const bool begins_life = std::any_of(events.begin(), events.end(), [](const Event& event) {
    return std::holds_alternative<TunerRestarted>(event);
  });
  // As recovery does behind such steps.
  if (begins_life && follows_older_build_) controller_->WriteAllWorkers();
  follows_older_build_ = !is_stream;
  const Transition own = controller_->Apply(events, step.at);
  const std::string text = EncodeStream(own.stream);
  if (Digest(own) != digest || (is_stream && text != step.events)) {
    return "the tuner decided otherwise than one that never died; events " + EncodeEvents(events) +
           "; its stream " + text;
  }
  if (auto broken = controller_->BrokenInvariant()) return broken;
  return FollowStream(text, own, planted);
}

std::optional<std::string> Shadows::FollowStream(const std::string& text,
                                                 const Transition& transition,
                                                 PlantedFault planted) {
  Result<std::vector<SweepEvent>> stream = DecodeStream(text);
  if (!stream.ok()) return "the stream cannot be read: " + stream.status().message();
  PlantInStream(planted, *stream);
  const Transition own = of_stream_->Follow(*stream);
  if (const auto broken = of_stream_->sweep().BrokenInvariant()) {
    return "by its stream alone, " + *broken;
  }
  if (Digest(OfSweep(own)) == Digest(OfSweep(transition))) return std::nullopt;
  return "the sweep's stream alone leads to other rows or messages: " + text;
}

}  // namespace tune::sim
