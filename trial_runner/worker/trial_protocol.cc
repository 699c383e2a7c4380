#include "trial_runner/worker/trial_protocol.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"

namespace tune {
namespace {

constexpr std::array<std::pair<ReportAnswer, std::string_view>, 4> kAnswers = {{
    {ReportAnswer::kContinue, "continue"},
    {ReportAnswer::kSave, "save"},
    {ReportAnswer::kStop, "stop"},
    {ReportAnswer::kRefused, "refused"},
}};

constexpr std::array<std::pair<EndDetail, std::string_view>, 6> kDetails = {{
    {EndDetail::kBadCheckpoint, "bad_checkpoint"},
    {EndDetail::kDiskFull, "disk_full"},
    {EndDetail::kOwnDiskFull, "own_disk_full"},
    {EndDetail::kRankLost, "rank_lost"},
    {EndDetail::kUnfitMachine, "unfit_machine"},
    {EndDetail::kAbsentPath, "absent_path"},
}};

// ---- writing

void Key(std::string_view key, std::string& out) {
  if (out.back() != '{' && out.back() != '[') out += ',';
  AppendJsonString(key, out);
  out += ':';
}
void Text(std::string_view key, std::string_view text, std::string& out) {
  Key(key, out);
  AppendJsonString(text, out);
}
void Int(std::string_view key, int64_t number, std::string& out) {
  Key(key, out);
  out += std::to_string(number);
}

// ---- reading; each takes the map's entry if it is there and leaves `out` alone otherwise

Status Wrong(std::string_view key, const Value& read, std::string_view expected) {
  return InvalidArgument(std::string(key) + ": read " + read.KindName() + ", expected " +
                         std::string(expected));
}

Status TakeText(const Value& map, std::string_view key, size_t bytes_max, std::string& out) {
  const Value* const value = map.Find(key);
  if (value == nullptr) return OkStatus();
  if (!value->is_string()) return Wrong(key, *value, "a string");
  if (value->AsString().size() > bytes_max) {
    return InvalidArgument(std::string(key) + ": longer than " + std::to_string(bytes_max) +
                           " bytes");
  }
  out = value->AsString();
  return OkStatus();
}

Status TakeTexts(const Value& map, std::string_view key, std::vector<std::string>& out) {
  const Value* const value = map.Find(key);
  if (value == nullptr) return OkStatus();
  if (!value->is_list()) return Wrong(key, *value, "a list of strings");
  for (const Value& text : value->AsList()) {
    if (!text.is_string()) return Wrong(key, text, "a string");
    out.push_back(text.AsString());
  }
  return OkStatus();
}

Status TakeInt(const Value& map, std::string_view key, int64_t min, int64_t& out) {
  const Value* const value = map.Find(key);
  if (value == nullptr) return OkStatus();
  if (!value->is_int() || value->AsInt() < min) {
    return InvalidArgument(std::string(key) + ": read " + ToJson(*value).substr(0, 40) +
                           ", expected an integer from " + std::to_string(min));
  }
  out = value->AsInt();
  return OkStatus();
}

Status TakeBool(const Value& map, std::string_view key, bool& out) {
  const Value* const value = map.Find(key);
  if (value == nullptr) return OkStatus();
  if (!value->is_bool()) return Wrong(key, *value, "true or false");
  out = value->AsBool();
  return OkStatus();
}

Status ReadMetrics(const Value& map, Metrics& out) {
  const Value* const metrics = map.Find("metrics");
  if (metrics == nullptr || !metrics->is_map()) {
    return InvalidArgument("metrics: expected a map of names to numbers");
  }
  if (metrics->AsMap().size() > static_cast<size_t>(limits::kMetricsPerReportMax)) {
    return InvalidArgument("metrics: " + std::to_string(metrics->AsMap().size()) +
                           ", expected at most " + std::to_string(limits::kMetricsPerReportMax));
  }
  out.reserve(metrics->AsMap().size());
  for (const MapEntry& entry : metrics->AsMap()) {
    if (entry.key.size() > limits::kNameBytesMax) {
      return InvalidArgument("metrics: a name longer than " +
                             std::to_string(limits::kNameBytesMax) + " bytes");
    }
    const std::optional<double> number = ReadNumber(entry.value);
    if (!number) return Wrong(entry.key, entry.value, "a number");
    out.emplace_back(entry.key, *number);
  }
  return OkStatus();
}

Result<FromTrial> ReadReport(const Value& map) {
  Report report;
  TUNE_RETURN_IF_ERROR(TakeInt(map, "iteration", 1, report.iteration));
  if (report.iteration == 0) return InvalidArgument("iteration: is missing");
  TUNE_RETURN_IF_ERROR(ReadMetrics(map, report.metrics));
  TUNE_RETURN_IF_ERROR(TakeBool(map, "final", report.final));
  TUNE_RETURN_IF_ERROR(TakeText(map, "note", limits::kErrorBytesMax, report.note));
  TUNE_RETURN_IF_ERROR(TakeText(map, "reading", limits::kNameBytesMax, report.reading));
  const Value* const checkpoint = map.Find("checkpoint");
  if (checkpoint == nullptr || checkpoint->is_null()) return FromTrial(std::move(report));
  if (!checkpoint->is_map()) return Wrong("checkpoint", *checkpoint, "a map");
  report.has_checkpoint = true;
  CheckpointRef& ref = report.checkpoint;
  TUNE_RETURN_IF_ERROR(TakeText(*checkpoint, "path", limits::kPathBytesMax, ref.path));
  TUNE_RETURN_IF_ERROR(TakeInt(*checkpoint, "bytes", 0, ref.bytes));
  TUNE_RETURN_IF_ERROR(TakeText(*checkpoint, "checksum", limits::kNameBytesMax, ref.checksum));
  if (!ref.path.empty() && ref.path.front() != '/') {
    return InvalidArgument("checkpoint.path: read '" + ref.path + "', expected an absolute path");
  }
  return FromTrial(std::move(report));
}

bool MayEndSo(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCompleted:
    case Outcome::kStopped:
    case Outcome::kCrashed:
    case Outcome::kKilled:
    case Outcome::kOutOfMemory:
    case Outcome::kDeviceOutOfMemory:
    case Outcome::kBadConfig:
      return true;
    default:
      return false;
  }
}

Result<FromTrial> ReadEnd(const Value& map) {
  TrialEnd end;
  std::string outcome;
  TUNE_RETURN_IF_ERROR(TakeText(map, "outcome", limits::kNameBytesMax, outcome));
  if (!ParseOutcome(outcome, end.outcome) || !MayEndSo(end.outcome)) {
    return InvalidArgument("outcome: read '" + outcome +
                           "', expected completed, stopped, crashed, killed, out_of_memory, "
                           "device_out_of_memory or bad_config");
  }
  TUNE_RETURN_IF_ERROR(TakeText(map, "error", limits::kTrialLineBytesMax, end.error));
  if (end.error.size() > limits::kErrorBytesMax) {
    end.error.resize(limits::kErrorBytesMax);
    end.error = ToUtf8(end.error);
  }
  std::string detail;
  TUNE_RETURN_IF_ERROR(TakeText(map, "detail", limits::kNameBytesMax, detail));
  for (const auto& [value, name] : kDetails) {
    if (name == detail) end.detail = value;
  }
  if (!detail.empty() && end.detail == EndDetail::kNone) {
    return InvalidArgument("detail: read '" + detail +
                           "', expected bad_checkpoint, disk_full, own_disk_full, rank_lost, "
                           "unfit_machine or absent_path");
  }
  return FromTrial(std::move(end));
}

Status ReadDevices(const Value& map, TrialStart& out) {
  if (const Value* const devices = map.Find("devices")) {
    if (!devices->is_list()) return Wrong("devices", *devices, "a list");
    for (const Value& device : devices->AsList()) {
      DeviceSlice slice;
      if (!device.is_map()) return Wrong("devices", device, "a map");
      TUNE_RETURN_IF_ERROR(TakeInt(device, "device", 0, slice.device));
      TUNE_RETURN_IF_ERROR(TakeInt(device, "milli", 1, slice.milli));
      TUNE_RETURN_IF_ERROR(TakeInt(device, "memory_bytes", 0, slice.memory_bytes));
      out.slices.push_back(slice);
    }
  }
  const Value* const environment = map.Find("device_environment");
  if (environment == nullptr) return OkStatus();
  if (!environment->is_map()) return Wrong("device_environment", *environment, "a map");
  for (const MapEntry& entry : environment->AsMap()) {
    if (!entry.value.is_string()) return Wrong("device_environment", entry.value, "a text");
    out.device_environment.emplace_back(entry.key, entry.value.AsString());
  }
  return OkStatus();
}

Status ReadGroup(Value& map, RankGroup& out) {
  Value* const group = map.Find("group");
  if (group == nullptr) return OkStatus();
  if (!group->is_map()) return Wrong("group", *group, "a map");
  TUNE_RETURN_IF_ERROR(TakeInt(*group, "local_rank", 0, out.local_rank));
  TUNE_RETURN_IF_ERROR(TakeInt(*group, "local_world_size", 1, out.local_world_size));
  TUNE_RETURN_IF_ERROR(TakeInt(*group, "node_rank", 0, out.node_rank));
  TUNE_RETURN_IF_ERROR(TakeInt(*group, "node_count", 1, out.node_count));
  TUNE_RETURN_IF_ERROR(
      TakeText(*group, "master_address", limits::kNameBytesMax, out.master_address));
  return TakeInt(*group, "master_port", 0, out.master_port);
}

Status TakeSeed(Value& map, std::string_view key, uint64_t& seed) {
  std::string text;
  TUNE_RETURN_IF_ERROR(TakeText(map, key, limits::kNameBytesMax, text));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return OkStatus();
  return InvalidArgument(std::string(key) + ": read '" + text +
                         "', expected an integer in a string");
}

Result<TrialStart> ReadStart(Value& map) {
  TrialStart start;
  TUNE_RETURN_IF_ERROR(TakeText(map, "experiment", limits::kTrialLineBytesMax, start.experiment));
  TUNE_RETURN_IF_ERROR(TakeText(map, "metric", limits::kTrialLineBytesMax, start.metric));
  TUNE_RETURN_IF_ERROR(TakeTexts(map, "more_metrics", start.more_metrics));
  TUNE_RETURN_IF_ERROR(TakeTexts(map, "constrained", start.constrained));
  TUNE_RETURN_IF_ERROR(TakeTexts(map, "own_paths", start.own_paths));
  bool less_is_better = false;
  TUNE_RETURN_IF_ERROR(TakeBool(map, "less_is_better", less_is_better));
  start.mode = less_is_better ? Mode::kMin : Mode::kMax;
  TUNE_RETURN_IF_ERROR(TakeText(map, "base_dir", limits::kPathBytesMax, start.base_dir));
  TUNE_RETURN_IF_ERROR(TakeSeed(map, "sweep_seed", start.sweep_seed));
  TUNE_RETURN_IF_ERROR(TakeSeed(map, "seed", start.seed));
  if (Value* const trainable = map.Find("trainable")) start.trainable = std::move(*trainable);
  if (Value* const config = map.Find("config")) start.config = std::move(*config);
  TUNE_RETURN_IF_ERROR(TakeInt(map, "trial", 0, start.trial.value));
  TUNE_RETURN_IF_ERROR(TakeInt(map, "attempt", 1, start.attempt.value));
  TUNE_RETURN_IF_ERROR(TakeInt(map, "from_iteration", 0, start.from_iteration));
  TUNE_RETURN_IF_ERROR(TakeText(map, "checkpoint", limits::kPathBytesMax, start.checkpoint_path));
  TUNE_RETURN_IF_ERROR(TakeBool(map, "other_config", start.has_other_config));
  TUNE_RETURN_IF_ERROR(TakeInt(map, "config_since", 1, start.config_since.value));
  TUNE_RETURN_IF_ERROR(TakeText(map, "artifact_dir", limits::kPathBytesMax, start.artifact_dir));
  TUNE_RETURN_IF_ERROR(TakeInt(map, "checkpoint_every", 1, start.checkpoint_every));
  TUNE_RETURN_IF_ERROR(TakeBool(map, "saves_first", start.saves_first));
  TUNE_RETURN_IF_ERROR(TakeInt(map, "memory_bytes", 0, start.memory_bytes));
  TUNE_RETURN_IF_ERROR(TakeInt(map, "threads", 1, start.threads));
  TUNE_RETURN_IF_ERROR(ReadDevices(map, start));
  TUNE_RETURN_IF_ERROR(TakeInt(map, "rank", 0, start.rank));
  TUNE_RETURN_IF_ERROR(TakeInt(map, "world_size", 1, start.world_size));
  if (start.rank >= start.world_size) {
    return InvalidArgument("rank: read " + std::to_string(start.rank) + ", expected one below " +
                           std::to_string(start.world_size) + ", the world_size");
  }
  TUNE_RETURN_IF_ERROR(ReadGroup(map, start.group));
  TUNE_RETURN_IF_ERROR(TakeText(map, "address", limits::kNameBytesMax, start.place.address));
  TUNE_RETURN_IF_ERROR(TakeBool(map, "own_artifacts", start.place.has_own_artifacts));
  TUNE_RETURN_IF_ERROR(TakeText(map, "folder", limits::kPathBytesMax, start.place.folder));
  TUNE_RETURN_IF_ERROR(TakeText(map, "content", limits::kNameBytesMax, start.place.content));
  TUNE_RETURN_IF_ERROR(TakeText(map, "cache", limits::kPathBytesMax, start.place.cache));
  TUNE_RETURN_IF_ERROR(TakeText(map, "inputs", limits::kPathBytesMax, start.place.inputs));
  return start;
}

// A map with one entry, the kind of message and what it says, and maybe the lane.
Result<OfLane<MapEntry>> ReadEnvelope(std::string_view line) {
  if (!IsUtf8(line)) return InvalidArgument("not UTF-8");
  TUNE_ASSIGN_OR_RETURN(Value value, ParseJson(line));
  OfLane<MapEntry> envelope;
  const Value* const lane = value.is_map() ? value.Find("lane") : nullptr;
  if (!value.is_map() || value.AsMap().size() != (lane == nullptr ? 1u : 2u)) {
    return InvalidArgument("expected a map with one key, and maybe \"lane\"");
  }
  if (lane != nullptr) {
    if (!lane->is_int() || lane->AsInt() < 1) {
      return InvalidArgument("lane: read " + ToJson(*lane).substr(0, 40) +
                             ", expected an integer from 1");
    }
    envelope.lane = lane->AsInt();
  }
  for (MapEntry& entry : value.AsMap()) {
    if (entry.key != "lane") envelope.message = std::move(entry);
  }
  return envelope;
}

Status CheckIsOnlyAttempt(int64_t lane) {
  if (lane == 0) return OkStatus();
  return InvalidArgument("lane: read " + std::to_string(lane) +
                         ", expected none: one attempt runs at a time");
}

void AddGroup(const RankGroup& group, std::string& out) {
  Key("group", out);
  out += '{';
  Int("local_rank", group.local_rank, out);
  Int("local_world_size", group.local_world_size, out);
  Int("node_rank", group.node_rank, out);
  Int("node_count", group.node_count, out);
  Text("master_address", group.master_address, out);
  Int("master_port", group.master_port, out);
  out += '}';
}

// A line's beginning.
std::string BeginLine(int64_t lane) {
  return lane == 0 ? "{" : "{\"lane\":" + std::to_string(lane) + ",";
}

}  // namespace

int64_t ThreadsOf(int64_t cpu_milli) { return std::max<int64_t>(1, cpu_milli / kWholeMilli); }

std::string EncodeStart(const SweepInfo& sweep, const StartAttempt& start,
                        const DeviceEnvironment& devices, const WorkPlace& place, int64_t lane) {
  std::string out = BeginLine(lane);
  out.reserve(512 + sweep.trainable.size() + start.config.size());
  out += R"("start":{)";
  Text("experiment", sweep.experiment, out);
  Text("metric", sweep.metric, out);
  const auto add_names = [&out](const char* key, const std::vector<std::string>& names) {
    if (names.empty()) return;
    Key(key, out);
    out += ToJson(Value(Value::List(names.begin(), names.end())));
  };
  add_names("more_metrics", sweep.more_metrics);
  add_names("constrained", sweep.constrained);
  add_names("own_paths", sweep.own_paths);
  if (sweep.mode == Mode::kMin) out += R"(,"less_is_better":true)";
  Text("sweep_seed", std::to_string(sweep.seed), out);
  Text("seed", std::to_string(start.seed), out);
  Text("base_dir", sweep.base_dir, out);
  Key("trainable", out);
  out += sweep.trainable;
  Int("trial", start.ref.trial.value, out);
  Int("attempt", start.ref.attempt.value, out);
  Key("config", out);
  out += start.config;
  Int("from_iteration", start.from_iteration, out);
  Text("checkpoint", start.checkpoint_path, out);
  if (start.has_other_config) out += R"(,"other_config":true)";
  Int("config_since", start.config_since.value, out);
  Text("artifact_dir", start.artifact_dir, out);
  Int("checkpoint_every", start.checkpoint_every, out);
  if (start.saves_first) out += R"(,"saves_first":true)";
  Int("memory_bytes", start.memory_bytes, out);
  Int("threads", ThreadsOf(start.cpu_milli), out);
  if (!place.folder.empty()) Text("folder", place.folder, out);
  if (!place.content.empty()) Text("content", place.content, out);
  if (!place.cache.empty()) Text("cache", place.cache, out);
  if (!place.inputs.empty()) Text("inputs", place.inputs, out);
  if (start.world_size > 1) {
    Int("rank", start.rank, out);
    Int("world_size", start.world_size, out);
    Text("address", place.address, out);
    if (place.has_own_artifacts) out += R"(,"own_artifacts":true)";
    AddGroup(start.group, out);
  }
  Key("devices", out);
  out += '[';
  for (const DeviceSlice& slice : start.slices) {
    if (out.back() != '[') out += ',';
    out += '{';
    Int("device", slice.device, out);
    Int("milli", slice.milli, out);
    Int("memory_bytes", slice.memory_bytes, out);
    out += '}';
  }
  out += ']';
  if (!devices.empty()) {
    Key("device_environment", out);
    out += '{';
    for (const auto& [name, value] : devices) Text(name, value, out);
    out += '}';
  }
  out += "}}\n";
  return out;
}

std::string EncodeAnswer(ReportAnswer answer, int64_t lane) {
  std::string out = BeginLine(lane) + R"("answer":")";
  for (const auto& [value, name] : kAnswers) {
    if (value == answer) out += name;
  }
  return out + "\"}\n";
}

std::string EncodeLeave(bool at_once, int64_t lane) {
  return BeginLine(lane) + R"("leave":")" + (at_once ? "now" : "soon") + "\"}\n";
}

std::string EncodeLeaveWithin(int64_t ms) {
  return R"({"leave_within_ms":)" + std::to_string(ms) + "}\n";
}

std::string EncodeReport(const Report& report, int64_t lane) {
  std::string out = BeginLine(lane) + R"("report":{)";
  Int("iteration", report.iteration, out);
  Key("metrics", out);
  out += '{';
  for (const auto& [name, value] : report.metrics) {
    Key(name, out);
    AppendJsonNumber(value, out);
  }
  out += '}';
  if (report.final) out += R"(,"final":true)";
  if (!report.note.empty()) Text("note", report.note, out);
  if (!report.reading.empty()) Text("reading", report.reading, out);
  if (report.has_checkpoint) {
    Key("checkpoint", out);
    out += '{';
    Text("path", report.checkpoint.path, out);
    Int("bytes", report.checkpoint.bytes, out);
    Text("checksum", report.checkpoint.checksum, out);
    out += '}';
  }
  out += "}}\n";
  return out;
}

std::string EncodeEnd(const TrialEnd& end, int64_t lane) {
  std::string out = BeginLine(lane) + R"("end":{)";
  Text("outcome", OutcomeName(end.outcome), out);
  Text("error", end.error, out);
  for (const auto& [value, name] : kDetails) {
    if (value == end.detail) Text("detail", name, out);
  }
  out += "}}\n";
  return out;
}

Result<OfLane<FromTrial>> ParseFromLane(std::string_view line) {
  TUNE_ASSIGN_OR_RETURN(const OfLane<MapEntry> envelope, ReadEnvelope(line));
  const MapEntry& entry = envelope.message;
  if (entry.value.is_map() && entry.key == "report") {
    TUNE_ASSIGN_OR_RETURN(FromTrial report, ReadReport(entry.value));
    return OfLane<FromTrial>{envelope.lane, std::move(report)};
  }
  if (entry.value.is_map() && entry.key == "end") {
    TUNE_ASSIGN_OR_RETURN(FromTrial end, ReadEnd(entry.value));
    return OfLane<FromTrial>{envelope.lane, std::move(end)};
  }
  return InvalidArgument("expected \"report\" or \"end\"");
}

Result<OfLane<ToLane>> ParseToLane(std::string_view line) {
  TUNE_ASSIGN_OR_RETURN(OfLane<MapEntry> envelope, ReadEnvelope(line));
  MapEntry& entry = envelope.message;
  if (entry.value.is_map() && entry.key == "start") {
    TUNE_ASSIGN_OR_RETURN(TrialStart start, ReadStart(entry.value));
    return OfLane<ToLane>{envelope.lane, std::move(start)};
  }
  if (entry.value.is_string() && entry.key == "answer") {
    for (const auto& [answer, name] : kAnswers) {
      if (entry.value.AsString() == name) return OfLane<ToLane>{envelope.lane, answer};
    }
  }
  if (entry.value.is_string() && entry.key == "leave" && envelope.lane > 0) {
    const std::string& when = entry.value.AsString();
    if (when == "now" || when == "soon") {
      return OfLane<ToLane>{envelope.lane, LeaveLane{when == "now"}};
    }
  }
  if (entry.value.is_int() && entry.key == "leave_within_ms" && envelope.lane == 0) {
    return OfLane<ToLane>{0, LeaveWithin{entry.value.AsInt()}};
  }
  return InvalidArgument(
      "expected \"start\", \"answer\", \"leave_within_ms\", or of a lane \"leave\"");
}

Result<FromTrial> ParseFromTrial(std::string_view line) {
  TUNE_ASSIGN_OR_RETURN(OfLane<FromTrial> read, ParseFromLane(line));
  TUNE_RETURN_IF_ERROR(CheckIsOnlyAttempt(read.lane));
  return std::move(read.message);
}

Result<ToTrial> ParseToTrial(std::string_view line) {
  TUNE_ASSIGN_OR_RETURN(OfLane<ToLane> read, ParseToLane(line));
  TUNE_RETURN_IF_ERROR(CheckIsOnlyAttempt(read.lane));
  if (auto* const start = std::get_if<TrialStart>(&read.message)) {
    return ToTrial(std::move(*start));
  }
  if (const auto* const leave = std::get_if<LeaveWithin>(&read.message)) return ToTrial(*leave);
  return ToTrial(std::get<ReportAnswer>(read.message));
}

}  // namespace tune
