#include "trial_runner/wire/decode.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/utf8.h"
#include "trial_runner/wire/decode_fields.h"
#include "trial_runner/wire/enumerations.h"

namespace tune {
namespace {

constexpr int64_t kMilliMax = 1'000'000'000;     // A million CPUs.
constexpr int64_t kPeriodMsMax = 1'000'000'000;  // Eleven days.
constexpr int64_t kPortMax = 65'535;

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
  TUNE_RETURN_IF_ERROR(
      ReadLine(in.mutable_address(), limits::kNameBytesMax, "hello.address", out.address));
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

Status Read(v1::Checkpoint& in, const std::string& field, CheckpointRef& out) {
  TUNE_RETURN_IF_ERROR(ReadStoredPath(in.mutable_path(), (field + ".path").c_str(), out.path));
  TUNE_RETURN_IF_ERROR(ReadInt(in.bytes(), 0, kAny, (field + ".bytes").c_str(), out.bytes));
  return ReadText(in.mutable_checksum(), limits::kNameBytesMax, (field + ".checksum").c_str(),
                  out.checksum);
}

Status Read(v1::CheckpointDurable& in, CheckpointDurable& out) {
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.iteration(), 1, kAny, "checkpoint_durable.iteration", out.iteration));
  if (!in.has_checkpoint()) return Absent("checkpoint_durable.checkpoint");
  return Read(*in.mutable_checkpoint(), "checkpoint_durable.checkpoint", out.checkpoint);
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
  report.checkpoint_follows = in.checkpoint_follows();
  if (!report.has_checkpoint) return OkStatus();
  if (report.checkpoint_follows) {
    return InvalidArgument(
        "report.checkpoint_follows: read true, expected false of a report that "
        "has its checkpoint");
  }
  return Read(*in.mutable_checkpoint(), "report.checkpoint", report.checkpoint);
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
    TUNE_RETURN_IF_ERROR(ReadStoredPath(&path, "heartbeat.cached", out.cached.emplace_back()));
  }
  return ReadLine(in.mutable_waits_for(), limits::kErrorBytesMax, "heartbeat.waits_for",
                  out.waits_for);
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

Status Read(v1::DataSeen& in, DataSeen& out) {
  TUNE_RETURN_IF_ERROR(ReadStoredPath(in.mutable_url(), "sweep.data.url", out.url));
  TUNE_RETURN_IF_ERROR(ReadInt(in.files(), 0, kAny, "sweep.data.files", out.file_count));
  TUNE_RETURN_IF_ERROR(ReadInt(in.bytes(), 0, kAny, "sweep.data.bytes", out.bytes));
  return ReadText(in.mutable_hash(), limits::kNameBytesMax, "sweep.data.hash", out.hash);
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
  out.has_async_checkpoints = in.async_checkpoints();
  out.lends_credentials = in.lends_credentials();
  TUNE_RETURN_IF_ERROR(ReadStoredPath(in.mutable_bucket(), "sweep.bucket", out.bucket));
  TUNE_RETURN_IF_ERROR(CheckCount(in.data_size(), kDataSeenMax, "sweep.data"));
  for (v1::DataSeen& data : *in.mutable_data()) {
    TUNE_RETURN_IF_ERROR(Read(data, out.data.emplace_back()));
  }
  TUNE_RETURN_IF_ERROR(CheckCount(in.own_paths_size(), kOwnPathsMax, "sweep.own_paths"));
  for (std::string& parameter : *in.mutable_own_paths()) {
    TUNE_RETURN_IF_ERROR(ReadText(&parameter, limits::kNameBytesMax, "sweep.own_paths",
                                  out.own_paths.emplace_back()));
  }
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

Status Read(v1::RankGroup& in, int64_t world_size, RankGroup& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.local_world_size(), 1, world_size, "start.group.local_world_size",
                               out.local_world_size));
  TUNE_RETURN_IF_ERROR(ReadInt(in.local_rank(), 0, out.local_world_size - 1,
                               "start.group.local_rank", out.local_rank));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.node_count(), 1, world_size, "start.group.node_count", out.node_count));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.node_rank(), 0, out.node_count - 1, "start.group.node_rank", out.node_rank));
  TUNE_RETURN_IF_ERROR(
      CheckCount(in.devices_size(), limits::kDevicesPerWorkerMax, "start.group.devices"));
  for (const int64_t device : in.devices()) {
    TUNE_RETURN_IF_ERROR(
        ReadInt(device, 0, kAny, "start.group.devices", out.devices.emplace_back()));
  }
  TUNE_RETURN_IF_ERROR(ReadLine(in.mutable_master_address(), limits::kNameBytesMax,
                                "start.group.master_address", out.master_address));
  return ReadInt(in.master_port(), 0, kPortMax, "start.group.master_port", out.master_port);
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
      ReadStoredPath(in.mutable_checkpoint_path(), "start.checkpoint_path", out.checkpoint_path));
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
  TUNE_RETURN_IF_ERROR(ReadInt(in.rank(), 0, out.world_size - 1, "start.rank", out.rank));
  if (!in.has_group()) return OkStatus();
  return Read(*in.mutable_group(), out.world_size, out.group);
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
  TUNE_RETURN_IF_ERROR(ReadInt(in.finish_within_ms(), 0, kPeriodMsMax, "kill.finish_within_ms",
                               out.finish_within_ms));
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
    case v1::FromWorker::kCheckpointDurable:
      if (!in.checkpoint_durable().has_ref()) return Absent("checkpoint_durable.ref");
      return ReadInto<CheckpointDurable>(*in.mutable_checkpoint_durable(), out);
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
      return ReadStoredPath(in.mutable_remove_cached()->mutable_path(), "remove_cached.path",
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

}  // namespace tune
