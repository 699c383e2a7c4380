#include "tuner/sweep_mark.h"

#include <variant>

#include "core/overloaded.h"

namespace tune {
namespace {

void Mark(ExperimentId sweep, AttemptRef& ref) {
  if (ref.sweep == ExperimentId{}) ref.sweep = sweep;
}

void Unmark(ExperimentId sweep, AttemptRef& ref) {
  if (ref.sweep == sweep) ref.sweep = {};
}

}  // namespace

void MarkSweep(ExperimentId sweep, ToWorker& message) {
  std::visit(Overloaded{
                 [sweep](Welcome& m) {
                   for (SweepInfo& info : m.sweeps) info.sweep = sweep;
                 },
                 [sweep](SweepInfo& m) { m.sweep = sweep; },
                 [sweep](StartAttempt& m) { Mark(sweep, m.ref); },
                 [sweep](AnswerReport& m) { Mark(sweep, m.ref); },
                 [sweep](KillAttempt& m) { Mark(sweep, m.ref); },
                 [](Refused&) {},
                 [](EndsAcknowledged&) {},
                 [](Heartbeat&) {},
                 [](RemoveCached&) {},
                 [sweep](SweepOver& m) {
                   if (m.sweep == ExperimentId{}) m.sweep = sweep;
                 },
                 [](Shutdown&) {},
             },
             message);
}

void UnmarkSweep(ExperimentId sweep, Event& event) {
  if (auto* const joined = std::get_if<WorkerJoined>(&event)) {
    for (HeldAttempt& held : joined->held) Unmark(sweep, held.ref);
  } else if (auto* const report = std::get_if<ReportArrived>(&event)) {
    Unmark(sweep, report->message.ref);
  } else if (auto* const arrived = std::get_if<CheckpointArrived>(&event)) {
    Unmark(sweep, arrived->message.ref);
  } else if (auto* const ended = std::get_if<AttemptFinished>(&event)) {
    Unmark(sweep, ended->message.ref);
  } else if (auto* const memory = std::get_if<DeviceMemorySeen>(&event)) {
    Unmark(sweep, memory->message.ref);
  } else if (auto* const unfit = std::get_if<WorkerUnfit>(&event)) {
    if (unfit->message.sweep == sweep) unfit->message.sweep = {};
  }
}

}  // namespace tune
