// The journal's text. A batch is a JSON list of events, an event a list that begins with its
// letter:
//
//   ["j", worker, name, address, pid, cpu_milli, [[index, name, memory_bytes], ...]]   WorkerJoined
//   ["g", worker, said_goodbye]                                                        WorkerGone
//   ["r", worker, trial, attempt, epoch, sequence, iteration, final, [name, value, ...]]
//   ["r", ..., [name, value, ...], path, bytes, checksum] ReportArrived, with a checkpoint
//   ["e", worker, trial, attempt, epoch, outcome, error] AttemptFinished
//   ["i"] InterruptRequested   ["t"] TunerRestarted   ["s", samples] SamplesExtended   ["d"]
//   DeadlinePassed
//
// Stored journals are read by later programs: letters and places are never given another meaning.
#include <charconv>
#include <cstdint>
#include <type_traits>

#include "core/json.h"
#include "core/value.h"
#include "tuner/event.h"

namespace tune {
namespace {

// ---- to text

void AppendInt(int64_t value, std::string& out) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

void AppendField(int64_t value, std::string& out) {
  out.push_back(',');
  AppendInt(value, out);
}

void AppendField(const std::string& value, std::string& out) {
  out.push_back(',');
  AppendJsonString(value, out);
}

void AppendRef(const AttemptRef& ref, std::string& out) {
  AppendField(ref.trial.value, out);
  AppendField(ref.attempt.value, out);
  AppendField(ref.epoch.value, out);
}

struct Encoder {
  std::string& out;

  void operator()(const WorkerJoined& event) const {
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
      out.push_back(']');
    }
    out.push_back(']');
  }

  void operator()(const WorkerGone& event) const {
    out += "\"g\"";
    AppendField(event.worker.value, out);
    AppendField(event.said_goodbye ? 1 : 0, out);
  }

  void operator()(const ReportArrived& event) const {
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
    if (!report.has_checkpoint) return;
    AppendField(report.checkpoint.path, out);
    AppendField(report.checkpoint.bytes, out);
    AppendField(report.checkpoint.checksum, out);
  }

  void operator()(const AttemptFinished& event) const {
    out += "\"e\"";
    AppendField(event.worker.value, out);
    AppendRef(event.message.ref, out);
    out += ",\"";
    out += OutcomeName(event.message.outcome);
    out.push_back('"');
    AppendField(event.message.error, out);
  }

  void operator()(const InterruptRequested&) const { out += "\"i\""; }
  void operator()(const TunerRestarted&) const { out += "\"t\""; }
  void operator()(const SamplesExtended& event) const {
    out += "\"s\"";
    AppendField(event.samples, out);
  }
  void operator()(const DeadlinePassed&) const { out += "\"d\""; }
};

// ---- from text

// The fields of one event, taken in order. The first that is not what is asked for sets `failed`;
// what follows is empty.
class Fields {
 public:
  explicit Fields(Value::List& list) : list_(list) {}

  int64_t Int() {
    const Value* const value = Next();
    if (value != nullptr && value->is_int()) return value->AsInt();
    failed_ = true;
    return 0;
  }
  bool Flag() {
    const int64_t value = Int();
    if (value != 0 && value != 1) failed_ = true;
    return value == 1;
  }
  double Number() {
    const Value* const value = Next();
    const std::optional<double> number = value == nullptr ? std::nullopt : ReadNumber(*value);
    if (!number.has_value()) failed_ = true;
    return number.value_or(0);
  }
  std::string Text() {
    Value* const value = Next();
    if (value != nullptr && value->is_string()) return value->AsString();
    failed_ = true;
    return std::string();
  }
  Value::List List() {
    Value* const value = Next();
    if (value != nullptr && value->is_list()) return std::move(value->AsList());
    failed_ = true;
    return {};
  }
  AttemptRef Ref() {
    AttemptRef ref;
    ref.trial = TrialNumber{Int()};
    ref.attempt = AttemptNumber{Int()};
    ref.epoch = LeaseEpoch{Int()};
    return ref;
  }

  void Fail() { failed_ = true; }
  bool AtEnd() const { return next_ == list_.size(); }
  // All taken, and each was right.
  bool Good() const { return !failed_ && AtEnd(); }

 private:
  Value* Next() { return next_ < list_.size() ? &list_[next_++] : nullptr; }

  Value::List& list_;
  size_t next_ = 0;
  bool failed_ = false;
};

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
    if (!inner.Good()) fields.Fail();
  }
  return event;
}

WorkerGone ReadWorkerGone(Fields& fields) {
  WorkerGone event;
  event.worker = WorkerId{fields.Int()};
  event.said_goodbye = fields.Flag();
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
  if (fields.AtEnd()) return event;
  report.has_checkpoint = true;
  report.checkpoint.path = fields.Text();
  report.checkpoint.bytes = fields.Int();
  report.checkpoint.checksum = fields.Text();
  return event;
}

AttemptFinished ReadAttemptFinished(Fields& fields) {
  AttemptFinished event;
  event.worker = WorkerId{fields.Int()};
  event.message.ref = fields.Ref();
  if (!ParseOutcome(fields.Text(), event.message.outcome)) fields.Fail();
  event.message.error = fields.Text();
  return event;
}

Event ReadEvent(Fields& fields) {
  const std::string letter = fields.Text();
  if (letter == "r") return ReadReportArrived(fields);
  if (letter == "e") return ReadAttemptFinished(fields);
  if (letter == "j") return ReadWorkerJoined(fields);
  if (letter == "g") return ReadWorkerGone(fields);
  if (letter == "i") return InterruptRequested{};
  if (letter == "t") return TunerRestarted{};
  if (letter == "s") return SamplesExtended{fields.Int()};
  if (letter == "d") return DeadlinePassed{};
  fields.Fail();
  return DeadlinePassed{};
}

}  // namespace

std::string EncodeEvents(const std::vector<Event>& events) {
  std::string out;
  out.reserve(events.size() * 96 + 2);
  out.push_back('[');
  for (const Event& event : events) {
    out += out.size() == 1 ? "[" : ",[";
    std::visit(Encoder{out}, event);
    out.push_back(']');
  }
  out.push_back(']');
  return out;
}

Result<std::vector<Event>> DecodeEvents(std::string_view text) {
  Result<Value> batch = ParseJson(text);
  if (!batch.ok()) return DataLoss("a journal step cannot be read: " + batch.status().message());
  if (!batch->is_list()) return DataLoss("a journal step cannot be read: it is no list");
  std::vector<Event> events;
  events.reserve(batch->AsList().size());
  for (Value& entry : batch->AsList()) {
    const std::string place =
        "event " + std::to_string(events.size() + 1) + " of a journal step cannot be read";
    if (!entry.is_list()) return DataLoss(place + ": it is no list");
    Fields fields(entry.AsList());
    events.push_back(ReadEvent(fields));
    if (!fields.Good()) return DataLoss(place + ": " + ToJson(entry).substr(0, 200));
  }
  return events;
}

}  // namespace tune
