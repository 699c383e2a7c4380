#include "trial_runner/wire/decode.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/utf8.h"
#include "trial_runner/wire/enumerations.h"

namespace tune {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kMilliMax = 1'000'000'000;     // A million CPUs.
constexpr int64_t kPeriodMsMax = 1'000'000'000;  // Eleven days.

Status ReadInt(int64_t value, int64_t min, int64_t max, const char* field, int64_t& out) {
  if (value < min || value > max) {
    return InvalidArgument(std::string(field) + ": read " + std::to_string(value) +
                           ", expected at least " + std::to_string(min) +
                           (max == kAny ? "" : " and at most " + std::to_string(max)));
  }
  out = value;
  return OkStatus();
}

Status ReadText(std::string* text, size_t bytes_max, const char* field, std::string& out) {
  if (text->size() > bytes_max) {
    return InvalidArgument(std::string(field) + ": " + std::to_string(text->size()) +
                           " bytes, expected at most " + std::to_string(bytes_max));
  }
  out = std::move(*text);
  return OkStatus();
}

// A text that people see in their terminals: a control character in it, which might do something
// there, becomes '?', and so does what is no UTF-8.
Status ReadLine(std::string* text, size_t bytes_max, const char* field, std::string& out) {
  TUNE_RETURN_IF_ERROR(ReadText(text, bytes_max, field, out));
  if (!IsUtf8(out)) out = ToUtf8(out);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    // Those of one byte, and C1's in UTF-8 (C2 80 to C2 9F).
    const auto next = i + 1 < out.size() ? static_cast<unsigned char>(out[i + 1]) : 0;
    const bool is_c1 = byte == 0xc2 && next >= 0x80 && next <= 0x9f;
    if (is_c1) out.erase(i + 1, 1);
    if (is_c1 || byte < 0x20 || byte == 0x7f) out[i] = '?';
  }
  return OkStatus();
}

// Empty, or absolute.
Status ReadPath(std::string* path, const char* field, std::string& out) {
  TUNE_RETURN_IF_ERROR(ReadText(path, limits::kPathBytesMax, field, out));
  if (!out.empty() && out.front() != '/') {
    return InvalidArgument(std::string(field) + ": expected an absolute path");
  }
  return OkStatus();
}

Status Absent(const char* field) { return InvalidArgument(std::string(field) + ": is absent"); }

Status CheckCount(int count, size_t max, const std::string& field) {
  if (static_cast<size_t>(count) <= max) return OkStatus();
  return InvalidArgument(field + ": " + std::to_string(count) + ", expected at most " +
                         std::to_string(max));
}

Status Read(const v1::AttemptRef& in, AttemptRef& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.trial(), 0, kAny, "ref.trial", out.trial.value));
  TUNE_RETURN_IF_ERROR(ReadInt(in.attempt(), 1, kAny, "ref.attempt", out.attempt.value));
  TUNE_RETURN_IF_ERROR(ReadInt(in.epoch(), 1, kAny, "ref.epoch", out.epoch.value));
  return ReadInt(in.sweep(), 0, kAny, "ref.sweep", out.sweep.value);
}

Status Read(const google::protobuf::RepeatedPtrField<v1::DeviceSlice>& in, const std::string& field,
            std::vector<DeviceSlice>& out) {
  TUNE_RETURN_IF_ERROR(CheckCount(in.size(), limits::kDevicesPerWorkerMax, field));
  for (const v1::DeviceSlice& s : in) {
    DeviceSlice slice;
    TUNE_RETURN_IF_ERROR(ReadInt(s.device(), 0, kAny, (field + ".device").c_str(), slice.device));
    TUNE_RETURN_IF_ERROR(
        ReadInt(s.milli(), 1, kWholeMilli, (field + ".milli").c_str(), slice.milli));
    TUNE_RETURN_IF_ERROR(ReadInt(s.memory_bytes(), 0, limits::kDeviceBytesMax,
                                 (field + ".memory_bytes").c_str(), slice.memory_bytes));
    out.push_back(slice);
  }
  return OkStatus();
}

Status ReadEndedSessions(v1::Hello& in, std::vector<std::string>& out) {
  TUNE_RETURN_IF_ERROR(
      CheckCount(in.ended_sessions_size(), kEndedSessionsMax, "hello.ended_sessions"));
  for (std::string& session : *in.mutable_ended_sessions()) {
    TUNE_RETURN_IF_ERROR(
        ReadText(&session, limits::kNameBytesMax, "hello.ended_sessions", out.emplace_back()));
  }
  return OkStatus();
}

Status ReadHeld(v1::Hello& in, std::vector<HeldAttempt>& out) {
  TUNE_RETURN_IF_ERROR(CheckCount(in.held_size(), limits::kHeldAttemptsMax, "hello.held"));
  for (const v1::HeldAttempt& h : in.held()) {
    HeldAttempt& held = out.emplace_back();
    if (!h.has_ref()) return Absent("hello.held.ref");
    TUNE_RETURN_IF_ERROR(Read(h.ref(), held.ref).At("hello.held"));
    TUNE_RETURN_IF_ERROR(
        ReadInt(h.cpu_milli(), 0, kMilliMax, "hello.held.cpu_milli", held.cpu_milli));
    TUNE_RETURN_IF_ERROR(Read(h.slices(), "hello.held.slices", held.slices));
  }
  return OkStatus();
}

Status Read(v1::Hello& in, Hello& out) {
  TUNE_RETURN_IF_ERROR(
      ReadLine(in.mutable_version(), limits::kNameBytesMax, "hello.version", out.version));
  TUNE_RETURN_IF_ERROR(ReadLine(in.mutable_name(), limits::kNameBytesMax, "hello.name", out.name));
  TUNE_RETURN_IF_ERROR(ReadLine(in.mutable_host(), limits::kNameBytesMax, "hello.host", out.host));
  TUNE_RETURN_IF_ERROR(ReadInt(in.pid(), 0, kAny, "hello.pid", out.pid));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.cpu_milli(), 0, kMilliMax, "hello.cpu_milli", out.capacity.cpu_milli));
  TUNE_RETURN_IF_ERROR(
      CheckCount(in.devices_size(), limits::kDevicesPerWorkerMax, "hello.devices"));
  std::vector<int64_t> indices;
  for (v1::Device& d : *in.mutable_devices()) {
    Device device;
    TUNE_RETURN_IF_ERROR(ReadInt(d.index(), 0, kAny, "hello.devices.index", device.index));
    TUNE_RETURN_IF_ERROR(
        ReadLine(d.mutable_name(), limits::kNameBytesMax, "hello.devices.name", device.name));
    TUNE_RETURN_IF_ERROR(ReadInt(d.memory_bytes(), 0, limits::kDeviceBytesMax,
                                 "hello.devices.memory_bytes", device.memory_bytes));
    TUNE_RETURN_IF_ERROR(
        ReadText(d.mutable_uuid(), limits::kNameBytesMax, "hello.devices.uuid", device.uuid));
    indices.push_back(device.index);
    out.capacity.devices.push_back(std::move(device));
  }
  std::sort(indices.begin(), indices.end());
  if (std::adjacent_find(indices.begin(), indices.end()) != indices.end()) {
    return InvalidArgument("hello.devices.index: two devices have the same one");
  }
  out.is_local = in.local();
  if (!out.is_local && out.name == kLocalWorkerName) {
    return InvalidArgument("hello.name: read 'local', expected another name of one that is not");
  }
  TUNE_RETURN_IF_ERROR(
      ReadText(in.mutable_session(), limits::kNameBytesMax, "hello.session", out.session));
  TUNE_RETURN_IF_ERROR(ReadEndedSessions(in, out.ended_sessions));
  return ReadHeld(in, out.held);
}

// A map with a key twice could not be read again.
Status CheckNamesDiffer(const Metrics& metrics) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : metrics) names.push_back(name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return OkStatus();
  return InvalidArgument("report.metrics: '" + std::string(*twice) + "' is there twice");
}

Status Read(v1::AttemptReport& in, AttemptReport& out) {
  Report& report = out.report;
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref));
  TUNE_RETURN_IF_ERROR(ReadInt(in.sequence(), 1, kAny, "report.sequence", out.sequence));
  TUNE_RETURN_IF_ERROR(ReadInt(in.iteration(), 1, kAny, "report.iteration", report.iteration));
  if (in.metrics_size() > limits::kMetricsPerReportMax) {
    return InvalidArgument("report.metrics: " + std::to_string(in.metrics_size()) +
                           ", expected at most " + std::to_string(limits::kMetricsPerReportMax));
  }
  report.metrics.reserve(static_cast<size_t>(in.metrics_size()));
  for (v1::Metric& metric : *in.mutable_metrics()) {
    std::string name;
    TUNE_RETURN_IF_ERROR(
        ReadText(metric.mutable_name(), limits::kNameBytesMax, "report.metrics.name", name));
    report.metrics.emplace_back(std::move(name), metric.value());
  }
  TUNE_RETURN_IF_ERROR(CheckNamesDiffer(report.metrics));
  report.final = in.final();
  TUNE_RETURN_IF_ERROR(
      ReadText(in.mutable_note(), limits::kErrorBytesMax, "report.note", report.note));
  TUNE_RETURN_IF_ERROR(
      ReadText(in.mutable_reading(), limits::kNameBytesMax, "report.reading", report.reading));
  report.has_checkpoint = in.has_checkpoint();
  if (!report.has_checkpoint) return OkStatus();
  v1::Checkpoint& checkpoint = *in.mutable_checkpoint();
  TUNE_RETURN_IF_ERROR(
      ReadPath(checkpoint.mutable_path(), "report.checkpoint.path", report.checkpoint.path));
  TUNE_RETURN_IF_ERROR(
      ReadInt(checkpoint.bytes(), 0, kAny, "report.checkpoint.bytes", report.checkpoint.bytes));
  return ReadText(checkpoint.mutable_checksum(), limits::kNameBytesMax,
                  "report.checkpoint.checksum", report.checkpoint.checksum);
}

Status Read(v1::AttemptEnded& in, AttemptEnded& out) {
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref));
  TUNE_RETURN_IF_ERROR(
      ReadLine(in.mutable_error(), limits::kErrorBytesMax, "ended.error", out.error));
  bool is_known_detail = false;
  for (const auto& [detail, wire] : kDetails) {
    if (wire != in.detail()) continue;
    out.detail = detail;
    is_known_detail = true;
  }
  if (!is_known_detail) {
    return InvalidArgument("ended.detail: read " + std::to_string(in.detail()) +
                           ", expected a known detail");
  }
  for (const auto& [outcome, wire] : kOutcomes) {
    if (wire != in.outcome()) continue;
    out.outcome = outcome;
    return OkStatus();
  }
  return InvalidArgument("ended.outcome: read " + std::to_string(in.outcome()) +
                         ", expected a known outcome");
}

Status Read(v1::Heartbeat& in, Heartbeat& out) {
  TUNE_RETURN_IF_ERROR(
      CheckCount(in.devices_size(), limits::kDevicesPerWorkerMax, "heartbeat.devices"));
  for (const v1::DeviceUse& u : in.devices()) {
    DeviceUse& use = out.devices.emplace_back();
    TUNE_RETURN_IF_ERROR(ReadInt(u.device(), 0, kAny, "heartbeat.devices.device", use.device));
    TUNE_RETURN_IF_ERROR(ReadInt(u.used_bytes(), 0, limits::kDeviceBytesMax,
                                 "heartbeat.devices.used_bytes", use.used_bytes));
  }
  TUNE_RETURN_IF_ERROR(CheckCount(in.cached_size(), kCachedPerHeartbeatMax, "heartbeat.cached"));
  for (std::string& path : *in.mutable_cached()) {
    TUNE_RETURN_IF_ERROR(ReadPath(&path, "heartbeat.cached", out.cached.emplace_back()));
  }
  return OkStatus();
}

Status Read(v1::Goodbye& in, Goodbye& out) {
  return ReadLine(in.mutable_why(), limits::kErrorBytesMax, "goodbye.why", out.why);
}

Status Read(v1::DeviceLost& in, DeviceLost& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.device(), 0, kAny, "device_lost.device", out.device));
  return ReadLine(in.mutable_why(), limits::kErrorBytesMax, "device_lost.why", out.why);
}

Status Read(v1::SweepUnfit& in, SweepUnfit& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.sweep(), 1, kAny, "sweep_unfit.sweep", out.sweep.value));
  return ReadLine(in.mutable_why(), limits::kErrorBytesMax, "sweep_unfit.why", out.why);
}

Status Read(const v1::DeviceMemoryPeak& in, DeviceMemoryPeak& out) {
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref));
  return ReadInt(in.bytes(), 1, limits::kDeviceBytesMax, "device_memory_peak.bytes", out.bytes);
}

// Part of a path on some disk: digits and nothing else.
Status ReadDigits(const std::string& in, size_t count, const std::string& field, std::string& out) {
  out = in;
  const bool is_digits =
      in.size() == count && in.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_digits ? OkStatus()
                   : InvalidArgument(field + ": expected " + std::to_string(count) +
                                     " lower-case hexadecimal digits");
}

Status Read(const v1::Package& in, const std::string& field, PackageName& out,
            int64_t bytes_max = limits::kPackageBytesMax) {
  TUNE_RETURN_IF_ERROR(ReadDigits(in.sha256(), 64, field + ".sha256", out.sha256));
  return ReadInt(in.bytes(), 1, bytes_max, (field + ".bytes").c_str(), out.bytes);
}

Status Read(v1::SweepInfo& in, SweepInfo& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.sweep(), 0, kAny, "sweep.sweep", out.sweep.value));
  TUNE_RETURN_IF_ERROR(
      ReadLine(in.mutable_experiment(), limits::kNameBytesMax, "sweep.experiment", out.experiment));
  TUNE_RETURN_IF_ERROR(
      ReadText(in.mutable_metric(), limits::kExpressionBytesMax, "sweep.metric", out.metric));
  if (in.more_metrics_size() >= limits::kObjectivesMax) {
    return InvalidArgument("sweep.more_metrics: " + std::to_string(in.more_metrics_size()) +
                           ", expected less than " + std::to_string(limits::kObjectivesMax));
  }
  for (std::string& metric : *in.mutable_more_metrics()) {
    TUNE_RETURN_IF_ERROR(ReadText(&metric, limits::kExpressionBytesMax, "sweep.more_metrics",
                                  out.more_metrics.emplace_back()));
  }
  if (in.constrained_size() > limits::kMetricsPerReportMax) {
    return InvalidArgument("sweep.constrained: " + std::to_string(in.constrained_size()) +
                           ", expected at most " + std::to_string(limits::kMetricsPerReportMax));
  }
  for (std::string& metric : *in.mutable_constrained()) {
    TUNE_RETURN_IF_ERROR(ReadText(&metric, limits::kExpressionBytesMax, "sweep.constrained",
                                  out.constrained.emplace_back()));
  }
  TUNE_RETURN_IF_ERROR(ReadText(in.mutable_trainable(), limits::kJsonTextBytesMax,
                                "sweep.trainable", out.trainable));
  TUNE_RETURN_IF_ERROR(ReadPath(in.mutable_base_dir(), "sweep.base_dir", out.base_dir));
  out.mode = in.less_is_better() ? Mode::kMin : Mode::kMax;
  out.seed = in.seed();
  out.is_elsewhere = in.elsewhere();
  if (in.has_package()) return Read(in.package(), "sweep.package", out.package);
  return OkStatus();
}

Status Read(v1::Welcome& in, Welcome& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.worker(), 1, kAny, "welcome.worker", out.worker.value));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.heartbeat_ms(), 1, kPeriodMsMax, "welcome.heartbeat_ms", out.heartbeat_ms));
  TUNE_RETURN_IF_ERROR(ReadInt(in.lease_ms(), 1, kPeriodMsMax, "welcome.lease_ms", out.lease_ms));
  out.is_head = in.is_head();
  TUNE_RETURN_IF_ERROR(CheckCount(in.sweeps_size(), limits::kHeldAttemptsMax, "welcome.sweeps"));
  std::set<ExperimentId> numbers;
  for (v1::SweepInfo& info : *in.mutable_sweeps()) {
    SweepInfo& sweep = out.sweeps.emplace_back();
    TUNE_RETURN_IF_ERROR(Read(info, sweep).At("welcome"));
    if (!numbers.insert(sweep.sweep).second) {
      return InvalidArgument("welcome.sweeps: " + std::to_string(sweep.sweep.value) + " twice");
    }
  }
  return OkStatus();
}

Status Read(v1::StartAttempt& in, StartAttempt& out) {
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref));
  out.ahead = in.ahead();
  TUNE_RETURN_IF_ERROR(ReadInt(in.ends_seen(), 0, kAny, "start.ends_seen", out.ends_seen));
  TUNE_RETURN_IF_ERROR(ReadInt(in.cpu_milli(), 0, kMilliMax, "start.cpu_milli", out.cpu_milli));
  TUNE_RETURN_IF_ERROR(Read(in.slices(), "start.slices", out.slices));
  out.seed = in.seed();
  TUNE_RETURN_IF_ERROR(
      ReadText(in.mutable_config(), limits::kJsonTextBytesMax, "start.config", out.config));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.from_iteration(), 0, kAny, "start.from_iteration", out.from_iteration));
  TUNE_RETURN_IF_ERROR(
      ReadPath(in.mutable_checkpoint_path(), "start.checkpoint_path", out.checkpoint_path));
  out.has_other_config = in.has_other_config();
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.config_since(), 1, kAny, "start.config_since", out.config_since.value));
  TUNE_RETURN_IF_ERROR(ReadPath(in.mutable_artifact_dir(), "start.artifact_dir", out.artifact_dir));
  out.saves_first = in.saves_first();
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.checkpoint_every(), 1, kAny, "start.checkpoint_every", out.checkpoint_every));
  TUNE_RETURN_IF_ERROR(ReadInt(in.memory_bytes(), 0, kAny, "start.memory_bytes", out.memory_bytes));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.world_size(), 1, limits::kConcurrencyMax, "start.world_size", out.world_size));
  out.is_spread = in.is_spread();
  TUNE_RETURN_IF_ERROR(ReadInt(in.lanes_max(), 0, kAny, "start.lanes_max", out.lanes_max));
  return ReadInt(in.rank(), 0, out.world_size - 1, "start.rank", out.rank);
}

Status Read(const v1::AnswerReport& in, AnswerReport& out) {
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref));
  TUNE_RETURN_IF_ERROR(ReadInt(in.sequence(), 1, kAny, "answer.sequence", out.sequence));
  for (const auto& [answer, wire] : kAnswers) {
    if (wire != in.answer()) continue;
    out.answer = answer;
    return OkStatus();
  }
  return InvalidArgument("answer.answer: read " + std::to_string(in.answer()) +
                         ", expected a known answer");
}

Status Read(const v1::KillAttempt& in, KillAttempt& out) {
  out.at_once = in.at_once();
  return Read(in.ref(), out.ref);
}

template <typename T, typename In, typename Variant>
Status ReadInto(In& in, Variant& out) {
  return Read(in, out.template emplace<T>());
}

}  // namespace

Status Read(v1::FromWorker& in, FromWorker& out) {
  switch (in.kind_case()) {
    case v1::FromWorker::kHello:
      return ReadInto<Hello>(*in.mutable_hello(), out);
    case v1::FromWorker::kReport:
      if (!in.report().has_ref()) return Absent("report.ref");
      return ReadInto<AttemptReport>(*in.mutable_report(), out);
    case v1::FromWorker::kEnded:
      if (!in.ended().has_ref()) return Absent("ended.ref");
      return ReadInto<AttemptEnded>(*in.mutable_ended(), out);
    case v1::FromWorker::kHeartbeat:
      return ReadInto<Heartbeat>(*in.mutable_heartbeat(), out);
    case v1::FromWorker::kGoodbye:
      return ReadInto<Goodbye>(*in.mutable_goodbye(), out);
    case v1::FromWorker::kDeviceLost:
      return ReadInto<DeviceLost>(*in.mutable_device_lost(), out);
    case v1::FromWorker::kDeviceMemoryPeak:
      if (!in.device_memory_peak().has_ref()) return Absent("device_memory_peak.ref");
      return ReadInto<DeviceMemoryPeak>(in.device_memory_peak(), out);
    case v1::FromWorker::kSweepUnfit:
      return ReadInto<SweepUnfit>(*in.mutable_sweep_unfit(), out);
    case v1::FromWorker::KIND_NOT_SET:
      break;
  }
  return Absent("kind");
}

Status Read(v1::ToWorker& in, ToWorker& out) {
  switch (in.kind_case()) {
    case v1::ToWorker::kWelcome:
      return ReadInto<Welcome>(*in.mutable_welcome(), out);
    case v1::ToWorker::kSweep:
      return ReadInto<SweepInfo>(*in.mutable_sweep(), out);
    case v1::ToWorker::kRefused:
      return ReadLine(in.mutable_refused()->mutable_reason(), limits::kErrorBytesMax,
                      "refused.reason", out.emplace<Refused>().reason);
    case v1::ToWorker::kStart:
      if (!in.start().has_ref()) return Absent("start.ref");
      return ReadInto<StartAttempt>(*in.mutable_start(), out);
    case v1::ToWorker::kAnswer:
      if (!in.answer().has_ref()) return Absent("answer.ref");
      return ReadInto<AnswerReport>(in.answer(), out);
    case v1::ToWorker::kKill:
      if (!in.kill().has_ref()) return Absent("kill.ref");
      return ReadInto<KillAttempt>(in.kill(), out);
    case v1::ToWorker::kEndsAcknowledged:
      return ReadInt(in.ends_acknowledged().ends_seen(), 0, kAny, "ends_acknowledged.ends_seen",
                     out.emplace<EndsAcknowledged>().ends_seen);
    case v1::ToWorker::kHeartbeat:
      return ReadInto<Heartbeat>(*in.mutable_heartbeat(), out);
    case v1::ToWorker::kRemoveCached:
      return ReadPath(in.mutable_remove_cached()->mutable_path(), "remove_cached.path",
                      out.emplace<RemoveCached>().path);
    case v1::ToWorker::kSweepOver:
      return ReadInt(in.sweep_over().sweep(), 0, kAny, "sweep_over.sweep",
                     out.emplace<SweepOver>().sweep.value);
    case v1::ToWorker::kShutdown:
      out.emplace<Shutdown>().is_interrupted = in.shutdown().is_interrupted();
      return ReadLine(in.mutable_shutdown()->mutable_why(), limits::kErrorBytesMax, "shutdown.why",
                      std::get<Shutdown>(out).why);
    case v1::ToWorker::KIND_NOT_SET:
      break;
  }
  return Absent("kind");
}

Status Read(v1::FetchRequest& in, FetchRequest& out) {
  TUNE_RETURN_IF_ERROR(Read(in.package(), "fetch.package", out.package));
  return ReadInt(in.offset(), 0, out.package.bytes, "fetch.offset", out.offset);
}

Status Read(v1::FetchPiece& in, std::string& text) {
  if (in.text().empty()) return InvalidArgument("piece.text: expected at least one byte");
  return ReadText(in.mutable_text(), limits::kPackagePieceBytes, "piece.text", text);
}

namespace {

Status Read(const v1::SeeNonce& in, SeeNonce& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.sweep(), 0, kAny, "see.sweep", out.sweep.value));
  out.is_of_programs = in.is_of_programs();
  return ReadDigits(in.nonce(), kNonceBytes, "see.nonce", out.nonce);
}

Status Read(v1::PutCheckpoint& in, PutCheckpoint& out) {
  if (!in.has_ref()) return Absent("put.ref");
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref).At("put"));
  TUNE_RETURN_IF_ERROR(ReadText(in.mutable_name(), limits::kNameBytesMax, "put.name", out.name));
  return Read(in.text(), "put.text", out.text, kAny);
}

Status Read(v1::GetCheckpoint& in, GetCheckpoint& out) {
  if (!in.has_ref()) return Absent("get.ref");
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref).At("get"));
  TUNE_RETURN_IF_ERROR(ReadPath(in.mutable_path(), "get.path", out.path));
  return ReadInt(in.offset(), 0, kAny, "get.offset", out.offset);
}

Status Read(v1::PutLog& in, PutLog& out) {
  if (!in.has_ref()) return Absent("log.ref");
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref).At("log"));
  TUNE_RETURN_IF_ERROR(ReadInt(in.rank(), 0, kAny, "log.rank", out.rank));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.offset(), 0, limits::kAttemptLogBytesMax, "log.offset", out.offset));
  return ReadText(in.mutable_text(), limits::kPackagePieceBytes, "log.text", out.text);
}

}  // namespace

Status Read(v1::CheckpointCall& in, CheckpointCall& out) {
  TUNE_RETURN_IF_ERROR(
      ReadText(in.mutable_session(), limits::kNameBytesMax, "session", out.session));
  switch (in.what_case()) {
    case v1::CheckpointCall::kSee:
      return Read(in.see(), out.what.emplace<SeeNonce>());
    case v1::CheckpointCall::kPut:
      return Read(*in.mutable_put(), out.what.emplace<PutCheckpoint>());
    case v1::CheckpointCall::kGet:
      return Read(*in.mutable_get(), out.what.emplace<GetCheckpoint>());
    case v1::CheckpointCall::kLog:
      return Read(*in.mutable_log(), out.what.emplace<PutLog>());
    case v1::CheckpointCall::WHAT_NOT_SET:
      break;
  }
  return Absent("what");
}

Status Read(v1::CheckpointAnswer& in, CheckpointAnswer& out) {
  out.is_seen = in.seen();
  TUNE_RETURN_IF_ERROR(ReadInt(in.offset(), 0, kAny, "answer.offset", out.offset));
  TUNE_RETURN_IF_ERROR(ReadPath(in.mutable_path(), "answer.path", out.path));
  return in.has_text() ? Read(in.text(), "answer.text", out.text, kAny) : OkStatus();
}

}  // namespace tune
