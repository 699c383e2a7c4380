// The text of journals before schema 9, of which the stream's has a part. A batch is a JSON list of
// events, an event a list that begins with its letter:
//
//   ["j", worker, name, address, pid, cpu_milli, [[index, name, memory_bytes], ...]]   WorkerJoined
//        a device of the driver's: [index, name, memory_bytes, uuid]
//   ["j", ..., session, [[trial, attempt, epoch, cpu_milli, [device, milli, ...]], ...]] not local
//        where memory is held, too: [..., [device, milli, ...], [memory_bytes, ...]]
//   ["j", ..., session, [...], [ended session, ...]] where it knows of any
//   ["j", ..., session, [...], [ended session, ...], 1] local, where it says any of these
//   ["g", worker, how, why]     WorkerGone: 0 broken, 1 goodbye, 2 silent; why only where it is
//   said
//   ["r", worker, trial, attempt, epoch, sequence, iteration, final, [name, value, ...]]
//   ["r", ..., [name, value, ...], path, bytes, checksum] ReportArrived, with a checkpoint
//   ["r", ..., [name, value, ...], "", -1, ""] with a checkpoint that follows
//   ["k", worker, trial, attempt, epoch, iteration, path, bytes, checksum] CheckpointArrived
//   ["e", worker, trial, attempt, epoch, outcome, error] AttemptFinished
//   ["e", ..., error, detail]   with a detail: 1 bad checkpoint, 2 disk full, 3 rank lost
//   ["i"] or ["i", given_up] InterruptRequested
//   ["t"] or ["t", 1 listens] TunerRestarted  ["z", us] TunerSlept
//   ["s", samples] SamplesExtended                           ["d"] DeadlinePassed
//   ["p", trial, now] PauseRequested, trial -1 for the sweep ["u", trial] UnpauseRequested
//   ["x", trial, now] StopRequested                          ["c", count] MaxConcurrentChanged
//   ["a"] ErroredRetried        ["l", worker, device, why] DeviceFellAway
//   ["m", worker, trial, attempt, epoch, bytes] DeviceMemorySeen
//   ["n", document] SettingsChanged    ["h", line, ...] ProgramChanged
//   ["w", worker] WorkerDrainRequested    ["f", worker, sweep, why] WorkerUnfit
//   ["v", [[shape, device, lanes, images_per_second, report_count], ...]] LaneSpeedsKnown
//
// Stored journals are read by later programs: letters and places are never given another meaning.
#include <cstdint>

#include "tuner/event.h"
#include "tuner/journal_text.h"

namespace tune {
namespace journal_text {

// ---- to text

void AppendEvent(const WorkerJoined& event, std::string& out) {
  out += "\"j\"";
  AppendField(event.worker.value, out);
  AppendField(event.name, out);
  AppendField(event.address, out);
  AppendField(event.pid, out);
  AppendField(event.capacity.cpu_milli, out);
  out += ",[";
  for (const Device& device : event.capacity.devices) {
    if (out.back() != '[') out.push_back(',');
    out.push_back('[');
    AppendInt(device.index, out);
    AppendField(device.name, out);
    AppendField(device.memory_bytes, out);
    if (!device.uuid.empty()) AppendField(device.uuid, out);
    out.push_back(']');
  }
  out.push_back(']');
  const bool says_more =
      !event.session.empty() || !event.held.empty() || !event.ended_sessions.empty();
  if (event.is_local && !says_more) return;
  AppendField(event.session, out);
  out += ",[";
  for (const HeldAttempt& held : event.held) {
    if (out.back() != '[') out.push_back(',');
    out.push_back('[');
    AppendInt(held.ref.trial.value, out);
    AppendField(held.ref.attempt.value, out);
    AppendField(held.ref.epoch.value, out);
    AppendField(held.cpu_milli, out);
    AppendSlices(held.slices, out);
    out.push_back(']');
  }
  out.push_back(']');
  if (event.ended_sessions.empty() && !event.is_local) return;
  out += ",[";
  for (const std::string& session : event.ended_sessions) {
    if (out.back() != '[') out.push_back(',');
    AppendJsonString(session, out);
  }
  out.push_back(']');
  if (event.is_local) AppendField(1, out);
}

void AppendEvent(const WorkerGone& event, std::string& out) {
  out += "\"g\"";
  AppendField(event.worker.value, out);
  AppendField(static_cast<int64_t>(event.how), out);
  if (!event.why.empty()) AppendField(event.why, out);
}

void AppendEvent(const TunerRestarted& event, std::string& out) {
  out += "\"t\"";
  if (event.listens) AppendField(1, out);
}

void AppendEvent(const DeadlinePassed&, std::string& out) { out += "\"d\""; }

void AppendEvent(const WorkerDrainRequested& event, std::string& out) {
  out += "\"w\"";
  AppendField(event.worker.value, out);
}

void AppendEvent(const DeviceFellAway& event, std::string& out) {
  out += "\"l\"";
  AppendField(event.worker.value, out);
  AppendField(event.message.device, out);
  AppendField(event.message.why, out);
}

// No journal of old has one: there were no heads.
void AppendEvent(const WorkerUnfit& event, std::string& out) {
  out += "\"f\"";
  AppendField(event.worker.value, out);
  AppendField(event.message.sweep.value, out);
  AppendField(event.message.why, out);
}

void AppendEvent(const DeviceMemorySeen& event, std::string& out) {
  out += "\"m\"";
  AppendField(event.worker.value, out);
  AppendRef(event.message.ref, out);
  AppendField(event.message.bytes, out);
}

void AppendSlices(const std::vector<DeviceSlice>& slices, std::string& out) {
  bool has_memory = false;
  out += ",[";
  for (const DeviceSlice& slice : slices) {
    if (out.back() != '[') out.push_back(',');
    AppendInt(slice.device, out);
    AppendField(slice.milli, out);
    has_memory = has_memory || slice.memory_bytes != 0;
  }
  out.push_back(']');
  if (!has_memory) return;
  out += ",[";
  for (const DeviceSlice& slice : slices) {
    if (out.back() != '[') out.push_back(',');
    AppendInt(slice.memory_bytes, out);
  }
  out.push_back(']');
}

namespace {

constexpr int64_t kFollows = -1;  // In the place of a checkpoint's bytes.

void AppendCheckpoint(const CheckpointRef& checkpoint, std::string& out) {
  AppendField(checkpoint.path, out);
  AppendField(checkpoint.bytes, out);
  AppendField(checkpoint.checksum, out);
}

}  // namespace

void AppendEvent(const CheckpointArrived& event, std::string& out) {
  out += "\"k\"";
  AppendField(event.worker.value, out);
  AppendRef(event.message.ref, out);
  AppendField(event.message.iteration, out);
  AppendCheckpoint(event.message.checkpoint, out);
}

void AppendEvent(const ReportArrived& event, std::string& out) {
  const Report& report = event.message.report;
  out += "\"r\"";
  AppendField(event.worker.value, out);
  AppendRef(event.message.ref, out);
  AppendField(event.message.sequence, out);
  AppendField(report.iteration, out);
  AppendField(report.final ? 1 : 0, out);
  out += ",[";
  for (const auto& [name, value] : report.metrics) {
    if (out.back() != '[') out.push_back(',');
    AppendJsonString(name, out);
    out.push_back(',');
    AppendJsonNumber(value, out);
  }
  out.push_back(']');
  if (report.has_checkpoint) AppendCheckpoint(report.checkpoint, out);
  if (report.checkpoint_follows) AppendCheckpoint({"", kFollows, ""}, out);
  if (!report.note.empty() || !report.reading.empty()) AppendField(report.note, out);
  if (!report.reading.empty()) AppendField(report.reading, out);
}

void AppendEvent(const AttemptFinished& event, std::string& out) {
  out += "\"e\"";
  AppendField(event.worker.value, out);
  AppendRef(event.message.ref, out);
  out += ",\"";
  out += OutcomeName(event.message.outcome);
  out.push_back('"');
  AppendField(event.message.error, out);
  if (event.message.detail != EndDetail::kNone) {
    AppendField(static_cast<int64_t>(event.message.detail), out);
  }
}

void AppendEvent(const InterruptRequested& event, std::string& out) {
  out += "\"i\"";
  if (!event.given_up.empty()) AppendField(event.given_up, out);
}

void AppendEvent(const SamplesExtended& event, std::string& out) {
  out += "\"s\"";
  AppendField(event.samples, out);
}

void AppendEvent(const TunerSlept& event, std::string& out) {
  out += "\"z\"";
  AppendField(event.duration.us, out);
}

void AppendEvent(const PauseRequested& event, std::string& out) {
  out += "\"p\"";
  AppendTrial(event.trial, out);
  AppendField(event.now ? 1 : 0, out);
}

void AppendEvent(const UnpauseRequested& event, std::string& out) {
  out += "\"u\"";
  AppendTrial(event.trial, out);
}

void AppendEvent(const StopRequested& event, std::string& out) {
  out += "\"x\"";
  AppendTrial(event.trial, out);
  AppendField(event.now ? 1 : 0, out);
}

void AppendEvent(const MaxConcurrentChanged& event, std::string& out) {
  out += "\"c\"";
  AppendField(event.max_concurrent, out);
}

void AppendEvent(const SettingsChanged& event, std::string& out) {
  out += "\"n\"";
  AppendField(event.document, out);
}

void AppendEvent(const ProgramChanged& event, std::string& out) {
  out += "\"h\"";
  for (const std::string& line : event.differences) AppendField(line, out);
}

void AppendEvent(const ErroredRetried&, std::string& out) { out += "\"a\""; }

void AppendEvent(const LaneSpeedsKnown& event, std::string& out) {
  out += "\"v\",[";
  for (const LaneSpeedRow& row : event.speeds) {
    out += out.back() == '[' ? "[" : ",[";
    AppendJsonString(row.kind.shape, out);
    AppendField(row.kind.device, out);
    AppendField(row.speed.lanes, out);
    out.push_back(',');
    AppendJsonNumber(row.speed.images_per_second, out);
    AppendField(row.speed.report_count, out);
    out.push_back(']');
  }
  out.push_back(']');
}

// ---- from text

namespace {

HeldAttempt ReadHeldAttempt(Fields& fields) {
  HeldAttempt held;
  held.ref = fields.Ref();
  held.cpu_milli = fields.Int();
  held.slices = ReadSlices(fields);
  return held;
}

WorkerJoined ReadWorkerJoined(Fields& fields) {
  WorkerJoined event;
  event.worker = WorkerId{fields.Int()};
  event.name = fields.Text();
  event.address = fields.Text();
  event.pid = fields.Int();
  event.capacity.cpu_milli = fields.Int();
  Value::List devices = fields.List();
  for (Value& entry : devices) {
    if (!entry.is_list()) {
      fields.Fail();
      break;
    }
    Fields inner(entry.AsList());
    Device& device = event.capacity.devices.emplace_back();
    device.index = inner.Int();
    device.name = inner.Text();
    device.memory_bytes = inner.Int();
    if (!inner.AtEnd()) device.uuid = inner.Text();
    if (!inner.Good()) fields.Fail();
  }
  if (fields.AtEnd()) return event;
  event.is_local = false;
  event.session = fields.Text();
  Value::List held = fields.List();
  for (Value& entry : held) {
    if (!entry.is_list()) {
      fields.Fail();
      break;
    }
    Fields inner(entry.AsList());
    event.held.push_back(ReadHeldAttempt(inner));
    if (!inner.Good()) fields.Fail();
  }
  if (fields.AtEnd()) return event;
  Value::List sessions = fields.List();
  Fields inner(sessions);
  while (!inner.AtEnd()) event.ended_sessions.push_back(inner.Text());
  if (!inner.Good()) fields.Fail();
  if (!fields.AtEnd()) event.is_local = fields.Flag();
  return event;
}

WorkerGone ReadWorkerGone(Fields& fields) {
  WorkerGone event;
  event.worker = WorkerId{fields.Int()};
  event.how = fields.OneOf(Departure::kSilent);
  if (!fields.AtEnd()) event.why = fields.Text();
  return event;
}

CheckpointRef ReadCheckpointRef(Fields& fields) {
  CheckpointRef checkpoint;
  checkpoint.path = fields.Text();
  checkpoint.bytes = fields.Int();
  checkpoint.checksum = fields.Text();
  return checkpoint;
}

CheckpointArrived ReadCheckpointArrived(Fields& fields) {
  CheckpointArrived event;
  event.worker = WorkerId{fields.Int()};
  event.message.ref = fields.Ref();
  event.message.iteration = fields.Int();
  event.message.checkpoint = ReadCheckpointRef(fields);
  return event;
}

ReportArrived ReadReportArrived(Fields& fields) {
  ReportArrived event;
  event.worker = WorkerId{fields.Int()};
  event.message.ref = fields.Ref();
  event.message.sequence = fields.Int();
  Report& report = event.message.report;
  report.iteration = fields.Int();
  report.final = fields.Flag();
  Value::List metrics = fields.List();
  Fields inner(metrics);
  while (!inner.AtEnd()) {
    std::string name = inner.Text();
    report.metrics.emplace_back(std::move(name), inner.Number());
  }
  if (!inner.Good()) fields.Fail();
  // A checkpoint has three fields; note and reading behind it are two, or the note is one.
  if (fields.Left() > 2) {
    CheckpointRef checkpoint = ReadCheckpointRef(fields);
    report.checkpoint_follows = checkpoint.bytes == kFollows;
    report.has_checkpoint = !report.checkpoint_follows;
    if (report.has_checkpoint) report.checkpoint = std::move(checkpoint);
  }
  if (!fields.AtEnd()) report.note = fields.Text();
  if (!fields.AtEnd()) report.reading = fields.Text();
  return event;
}

AttemptFinished ReadAttemptFinished(Fields& fields) {
  AttemptFinished event;
  event.worker = WorkerId{fields.Int()};
  event.message.ref = fields.Ref();
  if (!ParseOutcome(fields.Text(), event.message.outcome)) fields.Fail();
  event.message.error = fields.Text();
  if (!fields.AtEnd()) event.message.detail = fields.OneOf(EndDetail::kRankLost);
  return event;
}

DeviceFellAway ReadDeviceFellAway(Fields& fields) {
  DeviceFellAway event;
  event.worker = WorkerId{fields.Int()};
  event.message.device = fields.Int();
  event.message.why = fields.Text();
  return event;
}

WorkerUnfit ReadWorkerUnfit(Fields& fields) {
  WorkerUnfit event;
  event.worker = WorkerId{fields.Int()};
  event.message.sweep = ExperimentId{fields.Int()};
  event.message.why = fields.Text();
  return event;
}

DeviceMemorySeen ReadDeviceMemorySeen(Fields& fields) {
  DeviceMemorySeen event;
  event.worker = WorkerId{fields.Int()};
  event.message.ref = fields.Ref();
  event.message.bytes = fields.Int();
  return event;
}

LaneSpeedsKnown ReadLaneSpeedsKnown(Fields& fields) {
  LaneSpeedsKnown event;
  Value::List speeds = fields.List();
  for (Value& entry : speeds) {
    if (!entry.is_list()) {
      fields.Fail();
      break;
    }
    Fields inner(entry.AsList());
    LaneSpeedRow& row = event.speeds.emplace_back();
    row.kind.shape = inner.Text();
    row.kind.device = inner.Text();
    row.speed.lanes = inner.Int();
    row.speed.images_per_second = inner.Number();
    row.speed.report_count = inner.Int();
    if (!inner.Good()) fields.Fail();
  }
  return event;
}

// The fields of an aggregate are evaluated in order.
PauseRequested ReadPauseRequested(Fields& fields) { return {fields.Trial(), fields.Flag()}; }
StopRequested ReadStopRequested(Fields& fields) { return {fields.Trial(), fields.Flag()}; }

ProgramChanged ReadProgramChanged(Fields& fields) {
  ProgramChanged event;
  while (!fields.AtEnd()) event.differences.push_back(fields.Text());
  return event;
}

}  // namespace

Event ReadEvent(const std::string& letter, Fields& fields) {
  if (letter == "r") return ReadReportArrived(fields);
  if (letter == "k") return ReadCheckpointArrived(fields);
  if (letter == "e") return ReadAttemptFinished(fields);
  if (letter == "j") return ReadWorkerJoined(fields);
  if (letter == "g") return ReadWorkerGone(fields);
  if (letter == "i") return InterruptRequested{fields.AtEnd() ? "" : fields.Text()};
  if (letter == "t") return TunerRestarted{!fields.AtEnd() && fields.Flag()};
  if (letter == "s") return SamplesExtended{fields.Int()};
  if (letter == "d") return DeadlinePassed{};
  if (letter == "z") return TunerSlept{Duration{fields.Int()}};
  if (letter == "p") return ReadPauseRequested(fields);
  if (letter == "u") return UnpauseRequested{fields.Trial()};
  if (letter == "x") return ReadStopRequested(fields);
  if (letter == "c") return MaxConcurrentChanged{fields.Int()};
  if (letter == "n") return SettingsChanged{fields.Text()};
  if (letter == "h") return ReadProgramChanged(fields);
  if (letter == "w") return WorkerDrainRequested{WorkerId{fields.Int()}};
  if (letter == "a") return ErroredRetried{};
  if (letter == "l") return ReadDeviceFellAway(fields);
  if (letter == "m") return ReadDeviceMemorySeen(fields);
  if (letter == "v") return ReadLaneSpeedsKnown(fields);
  if (letter == "f") return ReadWorkerUnfit(fields);
  fields.Fail();
  return DeadlinePassed{};
}

void AppendAnyEvent(const Event& event, std::string& out) {
  std::visit([&out](const auto& e) { AppendEvent(e, out); }, event);
}

std::vector<DeviceSlice> ReadSlices(Fields& fields) {
  std::vector<DeviceSlice> slices;
  Value::List shares = fields.List();
  Fields inner(shares);
  while (!inner.AtEnd()) {
    const int64_t device = inner.Int();
    slices.push_back(DeviceSlice{device, inner.Int()});
  }
  if (!inner.Good()) fields.Fail();
  if (fields.AtEnd()) return slices;
  Value::List memory = fields.List();
  Fields bytes(memory);
  for (DeviceSlice& slice : slices) slice.memory_bytes = bytes.Int();
  if (!bytes.Good()) fields.Fail();
  return slices;
}

}  // namespace journal_text

std::string EncodeEvents(const std::vector<Event>& events) {
  return journal_text::EncodeList(events, journal_text::AppendAnyEvent);
}

Result<std::vector<Event>> DecodeEvents(std::string_view text) {
  return journal_text::DecodeList<Event>(text, [](journal_text::Fields& fields) {
    return journal_text::ReadEvent(fields.Text(), fields);
  });
}

}  // namespace tune
