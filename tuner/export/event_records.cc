#include "tuner/export/event_records.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/json.h"
#include "core/utf8.h"
#include "tuner/export/crc32c.h"
#include "tuner/export/protobuf_writer.h"

namespace tune {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kCrcBytes = 4;
constexpr char kExperimentTag[] = "_hparams_/experiment";
constexpr char kSessionStartTag[] = "_hparams_/session_start_info";
constexpr char kSessionEndTag[] = "_hparams_/session_end_info";

// ---- records

// TFRecord's checksums are rotated and shifted, so that one over bytes that hold one differs.
uint32_t MaskedCrc(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

void AppendLittleEndian(uint64_t value, size_t byte_count, std::string& out) {
  for (size_t i = 0; i < byte_count; ++i) out.push_back(static_cast<char>(value >> 8 * i));
}

uint64_t ReadLittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string Record(const ProtobufWriter& event) {
  const std::string& data = event.bytes();
  std::string record;
  record.reserve(kLengthBytes + kCrcBytes + data.size() + kCrcBytes);
  AppendLittleEndian(data.size(), kLengthBytes, record);
  AppendLittleEndian(MaskedCrc(record), kCrcBytes, record);
  record += data;
  AppendLittleEndian(MaskedCrc(data), kCrcBytes, record);
  return record;
}

// ---- events

double SecondsOf(Instant at) { return static_cast<double>(at.us) * 1e-6; }

// The time first and the step second, as FindWholeRecords expects them.
ProtobufWriter BeginEvent(Instant at, int64_t step) {
  ProtobufWriter event;
  event.Double(1, SecondsOf(at));
  if (step > 0) event.Integer(2, static_cast<uint64_t>(step));
  return event;
}

// TensorBoard wants some tensor beside the metadata, which is all that counts.
ProtobufWriter NullTensor() {
  ProtobufWriter dimension;
  dimension.Integer(1, 1);
  ProtobufWriter shape;
  shape.Message(2, dimension);
  ProtobufWriter tensor;
  tensor.Integer(1, 1);  // DT_FLOAT
  tensor.Message(2, shape);
  tensor.Bytes(5, std::string_view("\0\0\0\0", 4));  // One packed float.
  return tensor;
}

// `field` and `message`: which of HParamsPluginData's it is.
std::string HParamsRecord(Instant at, const char* tag, int field, const ProtobufWriter& message) {
  ProtobufWriter content;
  content.Integer(1, 0);  // Version.
  content.Message(field, message);
  ProtobufWriter plugin;
  plugin.Bytes(1, "hparams");
  plugin.Message(2, content);
  ProtobufWriter metadata;
  metadata.Message(1, plugin);
  metadata.Integer(4, 2);  // DATA_CLASS_TENSOR
  ProtobufWriter value;
  value.Bytes(1, tag);
  value.Message(9, metadata);
  value.Message(8, NullTensor());
  ProtobufWriter summary;
  summary.Message(1, value);
  ProtobufWriter event = BeginEvent(at, 0);
  event.Message(5, summary);
  return Record(event);
}

// ---- values

HParam::Type TypeOf(const std::vector<Value>& values) {
  if (std::all_of(values.begin(), values.end(), [](const Value& v) { return v.is_bool(); }))
    return HParam::Type::kBool;
  if (std::all_of(values.begin(), values.end(), [](const Value& v) { return v.is_number(); }))
    return HParam::Type::kFloat64;
  return HParam::Type::kString;
}

// A google.protobuf.Value.
ProtobufWriter ValueMessage(const Value& value, HParam::Type type) {
  ProtobufWriter message;
  if (type == HParam::Type::kBool && value.is_bool()) {
    message.Integer(4, value.AsBool() ? 1 : 0);
  } else if (type == HParam::Type::kFloat64 && value.is_number()) {
    message.Double(2, value.AsDouble());
  } else {
    message.Bytes(3, ToUtf8(value.is_string() ? value.AsString() : ToJson(value)));
  }
  return message;
}

ProtobufWriter HParamInfo(const HParam& hparam) {
  ProtobufWriter info;
  info.Bytes(1, ToUtf8(hparam.name));
  info.Integer(4, static_cast<uint64_t>(hparam.type));
  if (hparam.interval.has_value()) {
    ProtobufWriter interval;
    interval.Double(1, hparam.interval->lo);
    interval.Double(2, hparam.interval->hi);
    info.Message(6, interval);
  } else if (!hparam.values.empty()) {
    ProtobufWriter list;
    for (const Value& value : hparam.values) list.Message(1, ValueMessage(value, hparam.type));
    info.Message(5, list);
  }
  return info;
}

}  // namespace

std::vector<HParam> HParamsOf(const SearchSpace& space) {
  std::vector<HParam> hparams;
  for (const SpaceParameter& parameter : space.parameters()) {
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    if (domain == nullptr) continue;
    HParam hparam;
    hparam.name = parameter.name;
    if (domain->is_list()) {
      for (uint64_t i = 0; i < domain->Count().value_or(0); ++i)
        hparam.values.push_back(domain->At(i));
      hparam.type = TypeOf(hparam.values);
    } else if (const auto ends = domain->Ends()) {
      hparam.interval = {ends->first, ends->second};
    }
    hparams.push_back(std::move(hparam));
  }
  return hparams;
}

std::string FileVersionRecord(Instant at) {
  ProtobufWriter event = BeginEvent(at, 0);
  event.Bytes(3, "brain.Event:2");
  return Record(event);
}

std::string ScalarsRecord(Instant at, int64_t step, const Metrics& metrics) {
  ProtobufWriter summary;
  for (const auto& [name, number] : metrics) {
    ProtobufWriter value;
    value.Bytes(1, ToUtf8(name));
    value.Float(2, static_cast<float>(number));
    summary.Message(1, value);
  }
  ProtobufWriter event = BeginEvent(at, step);
  event.Message(5, summary);
  return Record(event);
}

std::string ExperimentRecord(Instant at, const std::vector<HParam>& hparams,
                             const std::vector<std::string>& metrics) {
  ProtobufWriter experiment;
  experiment.Double(3, SecondsOf(at));
  for (const HParam& hparam : hparams) experiment.Message(4, HParamInfo(hparam));
  for (const std::string& metric : metrics) {
    ProtobufWriter name;
    name.Bytes(2, ToUtf8(metric));
    ProtobufWriter info;
    info.Message(1, name);
    experiment.Message(5, info);
  }
  return HParamsRecord(at, kExperimentTag, 2, experiment);
}

std::string SessionStartRecord(Instant at, const Configuration& config,
                               const std::vector<HParam>& hparams) {
  ProtobufWriter start;
  for (const auto& [name, value] : config.parameters()) {
    const auto known = std::find_if(hparams.begin(), hparams.end(),
                                    [&](const HParam& hparam) { return hparam.name == name; });
    ProtobufWriter entry;
    entry.Bytes(1, ToUtf8(name));
    entry.Message(2, ValueMessage(value, known == hparams.end() ? TypeOf({value}) : known->type));
    start.Message(1, entry);
  }
  start.Double(5, SecondsOf(at));
  return HParamsRecord(at, kSessionStartTag, 3, start);
}

std::string SessionEndRecord(Instant at, SessionEnd end) {
  ProtobufWriter message;
  message.Integer(1, static_cast<uint64_t>(end));
  message.Double(2, SecondsOf(at));
  return HParamsRecord(at, kSessionEndTag, 4, message);
}

WholeRecords FindWholeRecords(std::string_view file) {
  WholeRecords found;
  for (;;) {
    const std::string_view rest = file.substr(found.byte_count);
    if (rest.size() < kLengthBytes + 2 * kCrcBytes) return found;
    const std::string_view length_bytes = rest.substr(0, kLengthBytes);
    const uint64_t length = ReadLittleEndian(length_bytes);
    if (ReadLittleEndian(rest.substr(kLengthBytes, kCrcBytes)) != MaskedCrc(length_bytes) ||
        length > rest.size() - kLengthBytes - 2 * kCrcBytes) {
      return found;
    }
    const std::string_view event = rest.substr(kLengthBytes + kCrcBytes, length);
    if (ReadLittleEndian(rest.substr(kLengthBytes + kCrcBytes + length, kCrcBytes)) !=
        MaskedCrc(event)) {
      return found;
    }
    found.byte_count += kLengthBytes + 2 * kCrcBytes + length;
    ++found.count;
    found.has_end = event.find(kSessionEndTag) != std::string_view::npos;
    // As BeginEvent wrote it: the time has nine bytes, 0x10 is the tag of the step.
    if (length <= 10 || event[9] != 0x10) continue;
    uint64_t step = 0;
    for (size_t i = 10, shift = 0; i < length && shift < 63; ++i, shift += 7) {
      step |= static_cast<uint64_t>(event[i] & 0x7f) << shift;
      if ((event[i] & 0x80) == 0) break;
    }
    found.last_step = std::max(found.last_step, static_cast<int64_t>(step));
  }
}

std::string EventFileName(Instant at) {
  char name[64];
  std::snprintf(name, sizeof name, "events.out.tfevents.%010lld.tune",
                static_cast<long long>(at.us / 1'000'000));
  return name;
}

}  // namespace tune
