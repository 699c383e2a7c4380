#include "trial_runner/wire/codec.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/limits.h"
#include "core/overloaded.h"
#include "proto/tune/v1/tune.pb.h"

namespace tune {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kMilliMax = 1'000'000'000;     // A million CPUs.
constexpr int64_t kPeriodMsMax = 1'000'000'000;  // Eleven days.

constexpr std::pair<Outcome, v1::Outcome> kOutcomes[] = {
    {Outcome::kCompleted, v1::OUTCOME_COMPLETED},
    {Outcome::kStopped, v1::OUTCOME_STOPPED},
    {Outcome::kCrashed, v1::OUTCOME_CRASHED},
    {Outcome::kKilled, v1::OUTCOME_KILLED},
    {Outcome::kOutOfMemory, v1::OUTCOME_OUT_OF_MEMORY},
    {Outcome::kDeviceOutOfMemory, v1::OUTCOME_DEVICE_OUT_OF_MEMORY},
    {Outcome::kHung, v1::OUTCOME_HUNG},
    {Outcome::kLost, v1::OUTCOME_LOST},
    {Outcome::kPreempted, v1::OUTCOME_PREEMPTED},
    {Outcome::kBadConfig, v1::OUTCOME_BAD_CONFIG},
};

constexpr std::pair<ReportAnswer, v1::ReportAnswer> kAnswers[] = {
    {ReportAnswer::kContinue, v1::REPORT_ANSWER_CONTINUE},
    {ReportAnswer::kSave, v1::REPORT_ANSWER_SAVE},
    {ReportAnswer::kStop, v1::REPORT_ANSWER_STOP},
    {ReportAnswer::kRefused, v1::REPORT_ANSWER_REFUSED},
};

constexpr std::pair<EndDetail, v1::EndDetail> kDetails[] = {
    {EndDetail::kNone, v1::END_DETAIL_NONE},
    {EndDetail::kBadCheckpoint, v1::END_DETAIL_BAD_CHECKPOINT},
    {EndDetail::kDiskFull, v1::END_DETAIL_DISK_FULL},
    {EndDetail::kRankLost, v1::END_DETAIL_RANK_LOST},
};

// ---- encoding

void Put(const AttemptRef& ref, v1::AttemptRef* out) {
  out->set_trial(ref.trial.value);
  out->set_attempt(ref.attempt.value);
  out->set_epoch(ref.epoch.value);
}

void Put(const std::vector<DeviceSlice>& slices,
         google::protobuf::RepeatedPtrField<v1::DeviceSlice>* out) {
  for (const DeviceSlice& slice : slices) {
    v1::DeviceSlice* const s = out->Add();
    s->set_device(slice.device);
    s->set_milli(slice.milli);
    s->set_memory_bytes(slice.memory_bytes);
  }
}

void Put(const Hello& hello, v1::Hello* out) {
  out->set_version(hello.version);
  out->set_name(hello.name);
  out->set_host(hello.host);
  out->set_pid(hello.pid);
  out->set_cpu_milli(hello.capacity.cpu_milli);
  for (const Device& device : hello.capacity.devices) {
    v1::Device* const d = out->add_devices();
    d->set_index(device.index);
    d->set_name(device.name);
    d->set_memory_bytes(device.memory_bytes);
    d->set_uuid(device.uuid);
  }
  out->set_local(hello.is_local);
  out->set_session(hello.session);
  for (const HeldAttempt& held : hello.held) {
    v1::HeldAttempt* const h = out->add_held();
    Put(held.ref, h->mutable_ref());
    h->set_cpu_milli(held.cpu_milli);
    Put(held.slices, h->mutable_slices());
  }
}

void Put(const AttemptReport& message, v1::AttemptReport* out) {
  const Report& report = message.report;
  Put(message.ref, out->mutable_ref());
  out->set_sequence(message.sequence);
  out->set_iteration(report.iteration);
  out->mutable_metrics()->Reserve(static_cast<int>(report.metrics.size()));
  for (const auto& [name, value] : report.metrics) {
    v1::Metric* const metric = out->add_metrics();
    metric->set_name(name);
    metric->set_value(value);
  }
  out->set_final(report.final);
  if (!report.has_checkpoint) return;
  v1::Checkpoint* const checkpoint = out->mutable_checkpoint();
  checkpoint->set_path(report.checkpoint.path);
  checkpoint->set_bytes(report.checkpoint.bytes);
  checkpoint->set_checksum(report.checkpoint.checksum);
}

void Put(const AttemptEnded& ended, v1::AttemptEnded* out) {
  Put(ended.ref, out->mutable_ref());
  for (const auto& [outcome, wire] : kOutcomes) {
    if (outcome == ended.outcome) out->set_outcome(wire);
  }
  out->set_error(ended.error);
  for (const auto& [detail, wire] : kDetails) {
    if (detail == ended.detail) out->set_detail(wire);
  }
}

void Put(const Heartbeat& heartbeat, v1::Heartbeat* out) {
  for (const DeviceUse& use : heartbeat.devices) {
    v1::DeviceUse* const u = out->add_devices();
    u->set_device(use.device);
    u->set_used_bytes(use.used_bytes);
  }
}

void Put(const DeviceLost& lost, v1::DeviceLost* out) {
  out->set_device(lost.device);
  out->set_why(lost.why);
}

void Put(const DeviceMemoryPeak& peak, v1::DeviceMemoryPeak* out) {
  Put(peak.ref, out->mutable_ref());
  out->set_bytes(peak.bytes);
}

void Put(const FromWorker& message, v1::FromWorker* out) {
  std::visit(Overloaded{
                 [out](const Hello& m) { Put(m, out->mutable_hello()); },
                 [out](const AttemptReport& m) { Put(m, out->mutable_report()); },
                 [out](const AttemptEnded& m) { Put(m, out->mutable_ended()); },
                 [out](const Heartbeat& m) { Put(m, out->mutable_heartbeat()); },
                 [out](const Goodbye& m) { out->mutable_goodbye()->set_why(m.why); },
                 [out](const DeviceLost& m) { Put(m, out->mutable_device_lost()); },
                 [out](const DeviceMemoryPeak& m) { Put(m, out->mutable_device_memory_peak()); },
             },
             message);
}

void Put(const PackageName& package, v1::Package* out) {
  out->set_sha256(package.sha256);
  out->set_bytes(package.bytes);
}

void Put(const Welcome& welcome, v1::Welcome* out) {
  out->set_worker(welcome.worker.value);
  out->set_experiment(welcome.experiment);
  out->set_metric(welcome.metric);
  out->set_trainable(welcome.trainable);
  out->set_base_dir(welcome.base_dir);
  out->set_seed(welcome.seed);
  out->set_heartbeat_ms(welcome.heartbeat_ms);
  out->set_lease_ms(welcome.lease_ms);
  if (!welcome.package.sha256.empty()) Put(welcome.package, out->mutable_package());
}

void Put(const StartAttempt& start, v1::StartAttempt* out) {
  Put(start.ref, out->mutable_ref());
  out->set_ahead(start.ahead);
  out->set_ends_seen(start.ends_seen);
  out->set_cpu_milli(start.cpu_milli);
  Put(start.slices, out->mutable_slices());
  out->set_config(start.config);
  out->set_from_iteration(start.from_iteration);
  out->set_checkpoint_path(start.checkpoint_path);
  out->set_has_other_config(start.has_other_config);
  out->set_config_since(start.config_since.value);
  out->set_artifact_dir(start.artifact_dir);
  out->set_checkpoint_every(start.checkpoint_every);
  out->set_saves_first(start.saves_first);
  out->set_memory_bytes(start.memory_bytes);
  out->set_rank(start.rank);
  out->set_world_size(start.world_size);
  out->set_is_spread(start.is_spread);
  out->set_lanes_max(start.lanes_max);
}

void Put(const AnswerReport& answer, v1::AnswerReport* out) {
  Put(answer.ref, out->mutable_ref());
  out->set_sequence(answer.sequence);
  for (const auto& [value, wire] : kAnswers) {
    if (value == answer.answer) out->set_answer(wire);
  }
}

void Put(const KillAttempt& kill, v1::KillAttempt* out) {
  Put(kill.ref, out->mutable_ref());
  out->set_at_once(kill.at_once);
}

void Put(const ToWorker& message, v1::ToWorker* out) {
  std::visit(Overloaded{
                 [out](const Welcome& m) { Put(m, out->mutable_welcome()); },
                 [out](const Refused& m) { out->mutable_refused()->set_reason(m.reason); },
                 [out](const StartAttempt& m) { Put(m, out->mutable_start()); },
                 [out](const AnswerReport& m) { Put(m, out->mutable_answer()); },
                 [out](const KillAttempt& m) { Put(m, out->mutable_kill()); },
                 [out](const EndsAcknowledged& m) {
                   out->mutable_ends_acknowledged()->set_ends_seen(m.ends_seen);
                 },
                 [out](const Heartbeat& m) { Put(m, out->mutable_heartbeat()); },
                 [out](const Shutdown&) { out->mutable_shutdown(); },
             },
             message);
}

// ---- decoding

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

// Empty, or absolute.
Status ReadPath(std::string* path, const char* field, std::string& out) {
  TUNE_RETURN_IF_ERROR(ReadText(path, limits::kPathBytesMax, field, out));
  if (!out.empty() && out.front() != '/') {
    return InvalidArgument(std::string(field) + ": expected an absolute path");
  }
  return OkStatus();
}

Status Absent(const char* field) { return InvalidArgument(std::string(field) + ": is absent"); }

Status Read(const v1::AttemptRef& in, AttemptRef& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.trial(), 0, kAny, "ref.trial", out.trial.value));
  TUNE_RETURN_IF_ERROR(ReadInt(in.attempt(), 1, kAny, "ref.attempt", out.attempt.value));
  return ReadInt(in.epoch(), 1, kAny, "ref.epoch", out.epoch.value);
}

Status Read(const google::protobuf::RepeatedPtrField<v1::DeviceSlice>& in, const std::string& field,
            std::vector<DeviceSlice>& out) {
  if (static_cast<size_t>(in.size()) > limits::kDevicesPerWorkerMax) {
    return InvalidArgument(field + ": " + std::to_string(in.size()) + ", expected at most " +
                           std::to_string(limits::kDevicesPerWorkerMax));
  }
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

Status ReadHeld(v1::Hello& in, std::vector<HeldAttempt>& out) {
  if (static_cast<size_t>(in.held_size()) > limits::kHeldAttemptsMax) {
    return InvalidArgument("hello.held: " + std::to_string(in.held_size()) + ", expected at most " +
                           std::to_string(limits::kHeldAttemptsMax));
  }
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
      ReadText(in.mutable_version(), limits::kNameBytesMax, "hello.version", out.version));
  TUNE_RETURN_IF_ERROR(ReadText(in.mutable_name(), limits::kNameBytesMax, "hello.name", out.name));
  TUNE_RETURN_IF_ERROR(ReadText(in.mutable_host(), limits::kNameBytesMax, "hello.host", out.host));
  TUNE_RETURN_IF_ERROR(ReadInt(in.pid(), 0, kAny, "hello.pid", out.pid));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.cpu_milli(), 0, kMilliMax, "hello.cpu_milli", out.capacity.cpu_milli));
  if (static_cast<size_t>(in.devices_size()) > limits::kDevicesPerWorkerMax) {
    return InvalidArgument("hello.devices: " + std::to_string(in.devices_size()) +
                           ", expected at most " + std::to_string(limits::kDevicesPerWorkerMax));
  }
  std::vector<int64_t> indices;
  for (v1::Device& d : *in.mutable_devices()) {
    Device device;
    TUNE_RETURN_IF_ERROR(ReadInt(d.index(), 0, kAny, "hello.devices.index", device.index));
    TUNE_RETURN_IF_ERROR(
        ReadText(d.mutable_name(), limits::kNameBytesMax, "hello.devices.name", device.name));
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
  return ReadHeld(in, out.held);
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
  report.final = in.final();
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
      ReadText(in.mutable_error(), limits::kErrorBytesMax, "ended.error", out.error));
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

Status Read(const v1::Heartbeat& in, Heartbeat& out) {
  if (static_cast<size_t>(in.devices_size()) > limits::kDevicesPerWorkerMax) {
    return InvalidArgument("heartbeat.devices: " + std::to_string(in.devices_size()) +
                           ", expected at most " + std::to_string(limits::kDevicesPerWorkerMax));
  }
  for (const v1::DeviceUse& u : in.devices()) {
    DeviceUse& use = out.devices.emplace_back();
    TUNE_RETURN_IF_ERROR(ReadInt(u.device(), 0, kAny, "heartbeat.devices.device", use.device));
    TUNE_RETURN_IF_ERROR(ReadInt(u.used_bytes(), 0, limits::kDeviceBytesMax,
                                 "heartbeat.devices.used_bytes", use.used_bytes));
  }
  return OkStatus();
}

Status Read(v1::Goodbye& in, Goodbye& out) {
  return ReadText(in.mutable_why(), limits::kErrorBytesMax, "goodbye.why", out.why);
}

Status Read(v1::DeviceLost& in, DeviceLost& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.device(), 0, kAny, "device_lost.device", out.device));
  return ReadText(in.mutable_why(), limits::kErrorBytesMax, "device_lost.why", out.why);
}

Status Read(const v1::DeviceMemoryPeak& in, DeviceMemoryPeak& out) {
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref));
  return ReadInt(in.bytes(), 1, limits::kDeviceBytesMax, "device_memory_peak.bytes", out.bytes);
}

// Part of a path on the worker's disk: digits and nothing else.
Status Read(const v1::Package& in, const std::string& field, PackageName& out) {
  constexpr size_t kDigits = 64;
  const std::string& hash = in.sha256();
  if (hash.size() != kDigits || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return InvalidArgument(field + ".sha256: expected 64 lower-case hexadecimal digits");
  }
  out.sha256 = hash;
  return ReadInt(in.bytes(), 1, limits::kPackageBytesMax, (field + ".bytes").c_str(), out.bytes);
}

Status Read(v1::Welcome& in, Welcome& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.worker(), 1, kAny, "welcome.worker", out.worker.value));
  TUNE_RETURN_IF_ERROR(ReadText(in.mutable_experiment(), limits::kNameBytesMax,
                                "welcome.experiment", out.experiment));
  TUNE_RETURN_IF_ERROR(
      ReadText(in.mutable_metric(), limits::kExpressionBytesMax, "welcome.metric", out.metric));
  TUNE_RETURN_IF_ERROR(ReadText(in.mutable_trainable(), limits::kJsonTextBytesMax,
                                "welcome.trainable", out.trainable));
  TUNE_RETURN_IF_ERROR(ReadPath(in.mutable_base_dir(), "welcome.base_dir", out.base_dir));
  out.seed = in.seed();
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.heartbeat_ms(), 1, kPeriodMsMax, "welcome.heartbeat_ms", out.heartbeat_ms));
  if (in.has_package()) TUNE_RETURN_IF_ERROR(Read(in.package(), "welcome.package", out.package));
  return ReadInt(in.lease_ms(), 1, kPeriodMsMax, "welcome.lease_ms", out.lease_ms);
}

Status Read(v1::StartAttempt& in, StartAttempt& out) {
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref));
  out.ahead = in.ahead();
  TUNE_RETURN_IF_ERROR(ReadInt(in.ends_seen(), 0, kAny, "start.ends_seen", out.ends_seen));
  TUNE_RETURN_IF_ERROR(ReadInt(in.cpu_milli(), 0, kMilliMax, "start.cpu_milli", out.cpu_milli));
  TUNE_RETURN_IF_ERROR(Read(in.slices(), "start.slices", out.slices));
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
      return ReadInto<Heartbeat>(in.heartbeat(), out);
    case v1::FromWorker::kGoodbye:
      return ReadInto<Goodbye>(*in.mutable_goodbye(), out);
    case v1::FromWorker::kDeviceLost:
      return ReadInto<DeviceLost>(*in.mutable_device_lost(), out);
    case v1::FromWorker::kDeviceMemoryPeak:
      if (!in.device_memory_peak().has_ref()) return Absent("device_memory_peak.ref");
      return ReadInto<DeviceMemoryPeak>(in.device_memory_peak(), out);
    case v1::FromWorker::KIND_NOT_SET:
      break;
  }
  return Absent("kind");
}

Status Read(v1::ToWorker& in, ToWorker& out) {
  switch (in.kind_case()) {
    case v1::ToWorker::kWelcome:
      return ReadInto<Welcome>(*in.mutable_welcome(), out);
    case v1::ToWorker::kRefused:
      return ReadText(in.mutable_refused()->mutable_reason(), limits::kErrorBytesMax,
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
      return ReadInto<Heartbeat>(in.heartbeat(), out);
    case v1::ToWorker::kShutdown:
      out = Shutdown{};
      return OkStatus();
    case v1::ToWorker::KIND_NOT_SET:
      break;
  }
  return Absent("kind");
}

// ---- batches

template <typename Batch, typename Message>
std::string Encode(std::span<const Message> messages) {
  google::protobuf::Arena arena;
  auto* const batch = google::protobuf::Arena::CreateMessage<Batch>(&arena);
  batch->mutable_messages()->Reserve(static_cast<int>(messages.size()));
  for (const Message& message : messages) Put(message, batch->add_messages());
  std::string bytes;
  TUNE_CHECK(batch->SerializeToString(&bytes));
  return bytes;
}

template <typename Batch, typename Message>
Result<std::vector<Message>> Decode(std::string_view bytes) {
  if (bytes.size() > limits::kMessageBytesMax) {
    return InvalidArgument("a batch of " + std::to_string(bytes.size()) +
                           " bytes, expected at most " + std::to_string(limits::kMessageBytesMax));
  }
  google::protobuf::Arena arena;
  auto* const batch = google::protobuf::Arena::CreateMessage<Batch>(&arena);
  if (!batch->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("not a batch of protocol tune.v1");
  }
  std::vector<Message> messages(static_cast<size_t>(batch->messages_size()));
  for (size_t i = 0; i < messages.size(); ++i) {
    const Status status = Read(*batch->mutable_messages(static_cast<int>(i)), messages[i]);
    if (!status.ok()) return status.At("message " + std::to_string(i + 1));
  }
  return messages;
}

// An upper bound that is close where it matters: for the messages that can be large.
size_t ApproximateBytes(const FromWorker& message) {
  size_t bytes = 128;
  if (const auto* const report = std::get_if<AttemptReport>(&message)) {
    for (const auto& [name, value] : report->report.metrics) bytes += name.size() + 16;
    bytes += report->report.checkpoint.path.size();
  } else if (const auto* const ended = std::get_if<AttemptEnded>(&message)) {
    bytes += ended->error.size();
  } else if (const auto* const heartbeat = std::get_if<Heartbeat>(&message)) {
    bytes += heartbeat->devices.size() * 24;
  }
  return bytes;
}

size_t ApproximateBytes(const ToWorker& message) {
  size_t bytes = 128;
  if (const auto* const start = std::get_if<StartAttempt>(&message)) {
    bytes += start->config.size() + start->checkpoint_path.size() + start->artifact_dir.size() +
             start->slices.size() * 16;
  } else if (const auto* const welcome = std::get_if<Welcome>(&message)) {
    bytes += welcome->trainable.size();
  }
  return bytes;
}

template <typename Message>
std::vector<Message> Take(std::deque<Message>& queue) {
  std::vector<Message> batch;
  size_t bytes = 0;
  while (!queue.empty() && batch.size() < limits::kBatchMessagesMax) {
    bytes += ApproximateBytes(queue.front());
    if (bytes > limits::kBatchBytes && !batch.empty()) break;
    batch.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  return batch;
}

}  // namespace

std::string EncodeBatch(std::span<const FromWorker> messages) {
  return Encode<v1::FromWorkerBatch>(messages);
}
std::string EncodeBatch(std::span<const ToWorker> messages) {
  return Encode<v1::ToWorkerBatch>(messages);
}
Result<std::vector<FromWorker>> DecodeFromWorkerBatch(std::string_view bytes) {
  return Decode<v1::FromWorkerBatch, FromWorker>(bytes);
}
Result<std::vector<ToWorker>> DecodeToWorkerBatch(std::string_view bytes) {
  return Decode<v1::ToWorkerBatch, ToWorker>(bytes);
}

std::string EncodeFetchRequest(const FetchRequest& request) {
  v1::FetchRequest out;
  Put(request.package, out.mutable_package());
  out.set_offset(request.offset);
  return out.SerializeAsString();
}

Result<FetchRequest> DecodeFetchRequest(std::string_view bytes) {
  v1::FetchRequest in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("not a request of protocol tune.v1");
  }
  FetchRequest request;
  TUNE_RETURN_IF_ERROR(Read(in.package(), "fetch.package", request.package));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.offset(), 0, request.package.bytes, "fetch.offset", request.offset));
  return request;
}

std::string EncodeFetchPiece(const std::string& text) {
  v1::FetchPiece out;
  out.set_text(text);
  return out.SerializeAsString();
}

Result<std::string> DecodeFetchPiece(std::string_view bytes) {
  v1::FetchPiece in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("not a piece of protocol tune.v1");
  }
  if (in.text().empty()) return InvalidArgument("piece.text: expected at least one byte");
  std::string text;
  TUNE_RETURN_IF_ERROR(ReadText(in.mutable_text(), limits::kPackagePieceBytes, "piece.text", text));
  return text;
}

std::vector<FromWorker> TakeBatch(std::deque<FromWorker>& queue) { return Take(queue); }
std::vector<ToWorker> TakeBatch(std::deque<ToWorker>& queue) { return Take(queue); }

}  // namespace tune
