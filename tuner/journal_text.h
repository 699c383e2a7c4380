// How the journal's texts are made and read: fields of a JSON list, in order. Of event_codec.cc and
// sweep_event_codec.cc alone, which say what stands where.
//
// Thread rule: values.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/value.h"
#include "tuner/event.h"

namespace tune::journal_text {

inline constexpr int64_t kWholeSweep = -1;

// ---- to text

inline void AppendInt(int64_t value, std::string& out) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

inline void AppendField(int64_t value, std::string& out) {
  out.push_back(',');
  AppendInt(value, out);
}

inline void AppendField(const std::string& value, std::string& out) {
  out.push_back(',');
  AppendJsonString(value, out);
}

inline void AppendRef(const AttemptRef& ref, std::string& out) {
  AppendField(ref.trial.value, out);
  AppendField(ref.attempt.value, out);
  AppendField(ref.epoch.value, out);
}

// A trial, or the whole sweep.
inline void AppendTrial(const std::optional<TrialNumber>& trial, std::string& out) {
  AppendField(trial ? trial->value : kWholeSweep, out);
}

// [device, milli, ...], and [memory_bytes, ...] behind it where memory is held, too.
void AppendSlices(const std::vector<DeviceSlice>& slices, std::string& out);

// An event's letter and fields, without the brackets.
void AppendAnyEvent(const Event& event, std::string& out);
void AppendEvent(const WorkerJoined& event, std::string& out);
void AppendEvent(const WorkerGone& event, std::string& out);
void AppendEvent(const TunerRestarted& event, std::string& out);
void AppendEvent(const DeadlinePassed& event, std::string& out);
void AppendEvent(const WorkerDrainRequested& event, std::string& out);
void AppendEvent(const DeviceFellAway& event, std::string& out);
void AppendEvent(const DeviceMemorySeen& event, std::string& out);
// Those that stand in a stream, too.
void AppendEvent(const ReportArrived& event, std::string& out);
void AppendEvent(const CheckpointArrived& event, std::string& out);
void AppendEvent(const AttemptFinished& event, std::string& out);
void AppendEvent(const InterruptRequested& event, std::string& out);
void AppendEvent(const SamplesExtended& event, std::string& out);
void AppendEvent(const TunerSlept& event, std::string& out);
void AppendEvent(const PauseRequested& event, std::string& out);
void AppendEvent(const UnpauseRequested& event, std::string& out);
void AppendEvent(const StopRequested& event, std::string& out);
void AppendEvent(const MaxConcurrentChanged& event, std::string& out);
void AppendEvent(const SettingsChanged& event, std::string& out);
void AppendEvent(const ProgramChanged& event, std::string& out);
void AppendEvent(const ErroredRetried& event, std::string& out);
void AppendEvent(const LaneSpeedsKnown& event, std::string& out);

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

  std::optional<TrialNumber> Trial() {
    const int64_t trial = Int();
    return trial == kWholeSweep ? std::nullopt : std::optional(TrialNumber{trial});
  }
  // An enumerator from 0 to `last`.
  template <typename Enum>
  Enum OneOf(Enum last) {
    const int64_t value = Int();
    if (value >= 0 && value <= static_cast<int64_t>(last)) return static_cast<Enum>(value);
    failed_ = true;
    return Enum{};
  }

  void Fail() { failed_ = true; }
  bool AtEnd() const { return next_ == list_.size(); }
  size_t Left() const { return list_.size() - next_; }
  // All taken, and each was right.
  bool Good() const { return !failed_ && AtEnd(); }

 private:
  Value* Next() { return next_ < list_.size() ? &list_[next_++] : nullptr; }

  Value::List& list_;
  size_t next_ = 0;
  bool failed_ = false;
};

// What is behind an event's letter; it is good when `fields` is.
Event ReadEvent(const std::string& letter, Fields& fields);
std::vector<DeviceSlice> ReadSlices(Fields& fields);

// ---- lists of events, by what appends one and what reads one

template <typename Item>
std::string EncodeList(const std::vector<Item>& items, void (*append)(const Item&, std::string&)) {
  std::string out;
  out.reserve(items.size() * 96 + 2);
  out.push_back('[');
  for (const Item& item : items) {
    out += out.size() == 1 ? "[" : ",[";
    append(item, out);
    out.push_back(']');
  }
  out.push_back(']');
  return out;
}

template <typename Item>
Result<std::vector<Item>> DecodeList(std::string_view text, Item (*read)(Fields& fields)) {
  Result<Value> batch = ParseJson(text);
  if (!batch.ok()) return DataLoss("a journal step cannot be read: " + batch.status().message());
  if (!batch->is_list()) return DataLoss("a journal step cannot be read: it is no list");
  std::vector<Item> items;
  items.reserve(batch->AsList().size());
  for (Value& entry : batch->AsList()) {
    const std::string place =
        "event " + std::to_string(items.size() + 1) + " of a journal step cannot be read";
    if (!entry.is_list()) return DataLoss(place + ": it is no list");
    Fields fields(entry.AsList());
    items.push_back(read(fields));
    if (!fields.Good()) return DataLoss(place + ": " + ToJson(entry).substr(0, 200));
  }
  return items;
}

}  // namespace tune::journal_text
