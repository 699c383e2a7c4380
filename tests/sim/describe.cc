#include "tests/sim/describe.h"

#include <utility>

namespace tune::sim {
namespace {

struct Describer {
  // From a worker.
  std::string operator()(const Hello& m) const {
    std::string text = "hello from " + m.name + (m.session.empty() ? "" : ", " + m.session);
    for (const HeldAttempt& held : m.held) {
      text +=
          "; " + std::string(held.cpu_milli > 0 ? "it runs " : "it ended ") + Describe(held.ref);
    }
    return text;
  }
  std::string operator()(const AttemptReport& m) const {
    return "report " + std::to_string(m.sequence) + " of " + Describe(m.ref) + ": iteration " +
           std::to_string(m.report.iteration) + (m.report.final ? ", the last" : "") +
           (m.report.has_checkpoint       ? ", with a checkpoint"
            : m.report.checkpoint_follows ? ", and a checkpoint follows"
                                          : "");
  }
  std::string operator()(const CheckpointDurable& m) const {
    return Describe(m.ref) + ", the checkpoint of iteration " + std::to_string(m.iteration) +
           " is durable";
  }
  std::string operator()(const AttemptEnded& m) const {
    return Describe(m.ref) + " ended as " + OutcomeName(m.outcome) +
           (m.error.empty() ? "" : ": " + m.error);
  }
  std::string operator()(const Heartbeat&) const { return "heartbeat"; }
  std::string operator()(const Goodbye&) const { return "goodbye"; }
  std::string operator()(const DeviceLost& m) const {
    return "device " + std::to_string(m.device) + " lost: " + m.why;
  }
  std::string operator()(const SweepUnfit& m) const {
    return "cannot run sweep " + std::to_string(m.sweep.value) + ": " + m.why;
  }
  std::string operator()(const DeviceMemoryPeak& m) const {
    return Describe(m.ref) + " used " + std::to_string(m.bytes) + " bytes of a device";
  }

  // To a worker.
  std::string operator()(const Welcome& m) const {
    return "welcome, worker " + std::to_string(m.worker.value);
  }
  std::string operator()(const SweepInfo& m) const {
    return "sweep " + std::to_string(m.sweep.value) + ", " + m.experiment;
  }
  std::string operator()(const Refused& m) const { return "refused: " + m.reason; }
  std::string operator()(const StartAttempt& m) const {
    std::string text = (m.ahead ? "run later " : "run ") + Describe(m.ref) + " from iteration " +
                       std::to_string(m.from_iteration);
    for (const DeviceSlice& slice : m.slices) {
      text += ", " + std::to_string(slice.milli) + " of device " + std::to_string(slice.device);
    }
    return text;
  }
  std::string operator()(const AnswerReport& m) const {
    static constexpr const char* kAnswers[] = {"continue", "save", "stop", "refused"};
    return std::string("answer to report ") + std::to_string(m.sequence) + " of " +
           Describe(m.ref) + ": " + kAnswers[static_cast<int>(m.answer)];
  }
  std::string operator()(const KillAttempt& m) const { return "end " + Describe(m.ref); }
  std::string operator()(const EndsAcknowledged& m) const {
    return std::to_string(m.ends_seen) + " ends seen";
  }
  std::string operator()(const RemoveCached& m) const { return "remove cached " + m.path; }
  std::string operator()(const SweepOver&) const { return "the sweep is over"; }
  std::string operator()(const Shutdown&) const { return "shut down"; }
};

}  // namespace

std::string Describe(const AttemptRef& ref) {
  return "trial " + std::to_string(ref.trial.value) + "/" + std::to_string(ref.attempt.value) +
         " (epoch " + std::to_string(ref.epoch.value) + ")";
}

std::string Describe(const FromWorker& message) { return std::visit(Describer(), message); }
std::string Describe(const ToWorker& message) { return std::visit(Describer(), message); }

const char* NameOf(const Event& event) {
  if (const auto* const gone = std::get_if<WorkerGone>(&event)) {
    switch (gone->how) {
      case Departure::kBroken:
        return "a connection broke";
      case Departure::kGoodbye:
        return "a worker said goodbye";
      case Departure::kSilent:
        return "a worker was silent for its lease";
    }
  }
  if (const auto* const joined = std::get_if<WorkerJoined>(&event)) {
    return joined->held.empty() ? "a worker joined" : "a worker came back with attempts";
  }
  if (const auto* const ended = std::get_if<AttemptFinished>(&event)) {
    if (ended->message.detail == EndDetail::kBadCheckpoint) return "a checkpoint was damaged";
    if (ended->message.detail == EndDetail::kDiskFull) return "a trial found the disk full";
    return "an attempt ended";
  }
  static const std::pair<size_t, const char*> kOthers[] = {
      {Event(ReportArrived{}).index(), "a report arrived"},
      {Event(CheckpointArrived{}).index(), "a checkpoint was durable after its report"},
      {Event(InterruptRequested{}).index(), "the user interrupted"},
      {Event(TunerRestarted{}).index(), "the tuner was resumed"},
      {Event(TunerSlept{}).index(), "the tuner slept"},
      {Event(SamplesExtended{}).index(), "the sweep was extended"},
      {Event(PauseRequested{}).index(), "a pause was asked for"},
      {Event(StopRequested{}).index(), "a stop was asked for"},
      {Event(MaxConcurrentChanged{}).index(), "max_concurrent was changed"},
      {Event(SettingsChanged{}).index(), "the settings were changed"},
      {Event(ErroredRetried{}).index(), "failed trials were retried"},
      {Event(DeviceFellAway{}).index(), "a device fell away"},
      {Event(DeviceMemorySeen{}).index(), "a trial was seen to use device memory"},
      {Event(ProgramChanged{}).index(), "the program was changed"},
      {Event(WorkerDrainRequested{}).index(), "a worker was asked to leave"},
      {Event(LaneSpeedsKnown{}).index(), "speeds of earlier sweeps were known"},
  };
  for (const auto& [index, name] : kOthers) {
    if (index == event.index()) return name;
  }
  return "other";
}

}  // namespace tune::sim
