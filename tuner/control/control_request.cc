#include "tuner/control/control_request.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "core/value.h"

namespace tune {
namespace {

constexpr std::array kVerbs = {
    ControlVerb::kPause,   ControlVerb::kUnpause,     ControlVerb::kStop,
    ControlVerb::kSet,     ControlVerb::kDrain,       ControlVerb::kDevices,
    ControlVerb::kState,   ControlVerb::kTraffic,     ControlVerb::kWorkers,
    ControlVerb::kWaiting, ControlVerb::kSubmit,      ControlVerb::kQueue,
    ControlVerb::kResume,  ControlVerb::kDelete,      ControlVerb::kNote,
    ControlVerb::kCluster, ControlVerb::kClusterDown, ControlVerb::kClusterSet,
    ControlVerb::kStates};

struct CodeName {
  StatusCode code;
  const char* name;
};
constexpr CodeName kCodes[] = {{StatusCode::kInvalidArgument, "invalid_argument"},
                               {StatusCode::kNotFound, "not_found"},
                               {StatusCode::kFailedPrecondition, "failed_precondition"},
                               {StatusCode::kPermissionDenied, "permission_denied"},
                               {StatusCode::kUnavailable, "unavailable"},
                               {StatusCode::kResourceExhausted, "resource_exhausted"},
                               {StatusCode::kDataLoss, "data_loss"},
                               {StatusCode::kInternal, "internal"}};

std::optional<ControlVerb> VerbNamed(std::string_view name) {
  for (const ControlVerb verb : kVerbs) {
    if (name == ControlVerbName(verb)) return verb;
  }
  return std::nullopt;
}

Status Unexpected(std::string_view key, const Value& read, const std::string& expected) {
  return InvalidArgument(std::string(key) + ": read " + Shown(read) + ", expected " + expected);
}

Status UnknownKey(ControlVerb verb, std::string_view key) {
  return InvalidArgument(std::string(ControlVerbName(verb)) + ": unknown key '" +
                         ToUtf8(key.substr(0, 40)) + "'");
}

Result<int64_t> ReadInt(std::string_view key, const Value& value, int64_t min, int64_t max) {
  if (value.is_int() && value.AsInt() >= min && value.AsInt() <= max) return value.AsInt();
  return Unexpected(key, value,
                    "an integer from " + std::to_string(min) + " to " + std::to_string(max));
}

Status ReadPackage(const Value& value, PackageName& package) {
  const Value* const hash = value.is_map() ? value.Find("sha256") : nullptr;
  const Value* const bytes = value.is_map() ? value.Find("bytes") : nullptr;
  const bool is_hash = hash != nullptr && hash->is_string() && hash->AsString().size() == 64 &&
                       hash->AsString().find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash || bytes == nullptr || value.AsMap().size() != 2) {
    return Unexpected("package", value, "{sha256: 64 lower-case hexadecimal digits, bytes: N}");
  }
  TUNE_ASSIGN_OR_RETURN(package.bytes,
                        ReadInt("package.bytes", *bytes, 1, limits::kPackageBytesMax));
  package.sha256 = hash->AsString();
  return OkStatus();
}

Status ReadSubmission(const MapEntry& argument, Submission& submission) {
  const Value& value = argument.value;
  const auto text = [&](std::string& out) -> Status {
    if (!value.is_string()) return Unexpected(argument.key, value, "a text");
    out = value.AsString();
    return OkStatus();
  };
  const auto object = [&](std::string& out) -> Status {
    if (!value.is_map()) return Unexpected(argument.key, value, "an object");
    out = ToJson(value);
    return OkStatus();
  };
  if (argument.key == "spec") return object(submission.spec);
  if (argument.key == "provenance") return object(submission.provenance);
  if (argument.key == "base_dir") return text(submission.base_dir);
  if (argument.key == "package") return ReadPackage(value, submission.package);
  if (const Status s = ReadLabelChange(argument.key, value, submission.labels);
      s.code() != StatusCode::kNotFound) {
    return s;
  }
  if (argument.key != "seed") {
    return UnknownKey(ControlVerb::kSubmit, argument.key);
  }
  const std::string digits = value.is_string() ? value.AsString() : "";
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), submission.seed);
  const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
  return is_whole ? OkStatus() : Unexpected("seed", value, "a text of digits, below 2^64");
}

Status CheckSubmission(const Submission& submission) {
  if (submission.spec.empty()) return InvalidArgument("submit: spec is missing");
  if (submission.provenance.empty()) return InvalidArgument("submit: provenance is missing");
  if (submission.base_dir.starts_with('/')) return OkStatus();
  return Unexpected("base_dir", submission.base_dir, "an absolute path");
}

Status ReadClusterSet(const MapEntry& argument, ControlRequest& request) {
  const Value& value = argument.value;
  if (argument.key == "document") {
    if (!value.is_map()) return Unexpected(argument.key, value, "an object");
    request.document = ToJson(value);
  } else if (argument.key == "file") {
    if (!value.is_string() || !value.AsString().starts_with('/')) {
      return Unexpected(argument.key, value, "an absolute path");
    }
    request.file = value.AsString();
  } else {
    return UnknownKey(request.verb, argument.key);
  }
  return OkStatus();
}

Status ReadArgument(const MapEntry& argument, ControlRequest& request) {
  if (request.verb == ControlVerb::kClusterSet) return ReadClusterSet(argument, request);
  if (request.verb == ControlVerb::kSubmit) return ReadSubmission(argument, request.submission);
  const bool is_set = request.verb == ControlVerb::kSet;
  const bool takes_trial = request.verb == ControlVerb::kPause ||
                           request.verb == ControlVerb::kUnpause ||
                           request.verb == ControlVerb::kStop;
  const bool takes_now = request.verb == ControlVerb::kPause ||
                         request.verb == ControlVerb::kStop ||
                         request.verb == ControlVerb::kClusterDown;
  if (argument.key == "trial" && takes_trial) {
    TUNE_ASSIGN_OR_RETURN(const int64_t number,
                          ReadInt("trial", argument.value, 0, limits::kSamplesMax));
    request.trial = TrialNumber{number};
  } else if (argument.key == "now" && takes_now) {
    if (!argument.value.is_bool()) return Unexpected("now", argument.value, "true or false");
    request.now = argument.value.AsBool();
  } else if (argument.key == "alone_with" && request.verb == ControlVerb::kClusterDown) {
    if (!argument.value.is_string()) {
      return Unexpected("alone_with", argument.value, "a sweep's name");
    }
    request.alone_with = argument.value.AsString();
  } else if (argument.key == "settings" && is_set) {
    if (!argument.value.is_list()) return Unexpected("settings", argument.value, "a list");
    for (const Value& setting : argument.value.AsList()) {
      if (!setting.is_string()) return Unexpected("settings", setting, "PATH=VALUE");
      request.settings.push_back(setting.AsString());
    }
  } else if (argument.key == "samples" && request.verb == ControlVerb::kResume) {
    TUNE_ASSIGN_OR_RETURN(request.samples,
                          ReadInt("samples", argument.value, -1, limits::kSamplesMax));
  } else if (argument.key == "errored" && request.verb == ControlVerb::kResume) {
    if (!argument.value.is_bool()) return Unexpected("errored", argument.value, "true or false");
    request.errored = argument.value.AsBool();
  } else if (argument.key == "worker" && request.verb == ControlVerb::kDrain) {
    if (!argument.value.is_string() || argument.value.AsString().empty())
      return Unexpected("worker", argument.value, "a worker's name");
    request.worker = argument.value.AsString();
  } else if (request.verb == ControlVerb::kNote) {
    const Status s = ReadLabelChange(argument.key, argument.value, request.labels);
    return s.code() == StatusCode::kNotFound ? UnknownKey(request.verb, argument.key) : s;
  } else {
    return UnknownKey(request.verb, argument.key);
  }
  return OkStatus();
}

Status ReadAsker(const Value& value, std::optional<Asker>& by) {
  const Value* const name = value.is_map() ? value.Find("name") : nullptr;
  const Value* const role = value.is_map() ? value.Find("role") : nullptr;
  const bool is_whole = name != nullptr && name->is_string() && role != nullptr &&
                        (*role == Value("admin") || *role == Value("user"));
  if (!is_whole) return Unexpected("by", value, "{name, role: user or admin}");
  by = Asker{name->AsString(), *role == Value("admin")};
  return OkStatus();
}

Status ReadVerb(ControlVerb verb, const Value& arguments, ControlRequest& request) {
  if (!arguments.is_map()) return Unexpected(ControlVerbName(verb), arguments, "an object");
  request.verb = verb;
  for (const MapEntry& argument : arguments.AsMap()) {
    TUNE_RETURN_IF_ERROR(ReadArgument(argument, request));
  }
  if (verb == ControlVerb::kSet && request.settings.empty()) {
    return InvalidArgument("set: settings are missing");
  }
  if (verb == ControlVerb::kNote && request.labels.empty()) {
    return InvalidArgument("note: expected note, tags or untag");
  }
  if (verb == ControlVerb::kClusterSet && (request.file.empty() || request.document.empty())) {
    return InvalidArgument("cluster_set: expected file and document");
  }
  if (verb == ControlVerb::kSubmit) return CheckSubmission(request.submission);
  if (verb == ControlVerb::kDrain && request.worker.empty()) {
    return InvalidArgument("drain: worker is missing");
  }
  return OkStatus();
}

Result<Value> ParseObject(std::string_view line, size_t bytes_max) {
  if (line.size() > bytes_max) {
    return InvalidArgument("the line has more than " + std::to_string(bytes_max) + " bytes");
  }
  TUNE_ASSIGN_OR_RETURN(Value object, ParseJson(line));
  if (!object.is_map()) {
    return InvalidArgument("read " + Shown(object) + ", expected an object");
  }
  return object;
}

}  // namespace

const char* ControlVerbName(ControlVerb verb) {
  switch (verb) {
    case ControlVerb::kPause:
      return "pause";
    case ControlVerb::kUnpause:
      return "unpause";
    case ControlVerb::kStop:
      return "stop";
    case ControlVerb::kSet:
      return "set";
    case ControlVerb::kDrain:
      return "drain";
    case ControlVerb::kDevices:
      return "devices";
    case ControlVerb::kState:
      return "state";
    case ControlVerb::kStates:
      return "states";
    case ControlVerb::kTraffic:
      return "traffic";
    case ControlVerb::kWorkers:
      return "workers";
    case ControlVerb::kWaiting:
      return "waiting";
    case ControlVerb::kSubmit:
      return "submit";
    case ControlVerb::kQueue:
      return "queue";
    case ControlVerb::kResume:
      return "resume";
    case ControlVerb::kDelete:
      return "delete";
    case ControlVerb::kNote:
      return "note";
    case ControlVerb::kCluster:
      return "cluster";
    case ControlVerb::kClusterDown:
      return "cluster_down";
    case ControlVerb::kClusterSet:
      return "cluster_set";
  }
  return "";
}

bool ChangesSweep(ControlVerb verb) {
  return verb == ControlVerb::kPause || verb == ControlVerb::kUnpause ||
         verb == ControlVerb::kStop || verb == ControlVerb::kSet || verb == ControlVerb::kDrain ||
         verb == ControlVerb::kResume || verb == ControlVerb::kDelete || verb == ControlVerb::kNote;
}

bool IsChange(ControlVerb verb) {
  return ChangesSweep(verb) || verb == ControlVerb::kSubmit || verb == ControlVerb::kClusterDown ||
         verb == ControlVerb::kClusterSet;
}

namespace {

// " tag team=vision untag draft text": a note's text is the sweep's to show.
std::string DescribeLabels(const LabelChange& labels) {
  std::string text;
  for (const auto& [key, value] : labels.tags) {
    text += " tag " + key + (value.empty() ? "" : "=" + value);
  }
  for (const std::string& key : labels.untag) text += " untag " + key;
  if (labels.note) text += labels.note->empty() ? " no text" : " text";
  return text;
}

}  // namespace

std::string DescribeChange(const ControlRequest& request) {
  std::string text = ControlVerbName(request.verb);
  if (request.trial) text += " trial " + std::to_string(request.trial->value);
  for (const std::string& setting : request.settings) text += " " + setting;
  if (request.samples) text += " samples " + std::to_string(*request.samples);
  if (request.errored) text += " errored";
  if (!request.worker.empty()) text += " " + request.worker;
  if (!request.file.empty()) text += " " + request.file;
  if (request.now) text += " now";
  if (request.verb == ControlVerb::kNote) text += DescribeLabels(request.labels);
  return text;
}

namespace {

// Both texts are JSON.
Value EncodeSubmission(const Submission& submission) {
  Value arguments = Value::MakeMap();
  arguments.Set("seed", std::to_string(submission.seed));
  for (const auto& [key, text] :
       {std::pair("spec", &submission.spec), std::pair("provenance", &submission.provenance)}) {
    Result<Value> value = ParseJson(*text);
    TUNE_CHECK(value.ok());
    arguments.Set(key, *std::move(value));
  }
  arguments.Set("base_dir", submission.base_dir);
  const Value labels = EncodeLabelChange(submission.labels);
  for (const MapEntry& entry : labels.AsMap()) arguments.Set(entry.key, entry.value);
  if (submission.package.sha256.empty()) return arguments;
  Value package = Value::MakeMap();
  package.Set("sha256", submission.package.sha256);
  package.Set("bytes", submission.package.bytes);
  arguments.Set("package", std::move(package));
  return arguments;
}

}  // namespace

std::string EncodeRequest(const ControlRequest& request) {
  Value arguments = Value::MakeMap();
  if (request.verb == ControlVerb::kSubmit) arguments = EncodeSubmission(request.submission);
  if (request.verb == ControlVerb::kNote) arguments = EncodeLabelChange(request.labels);
  if (request.verb == ControlVerb::kClusterSet) {
    Result<Value> document = ParseJson(request.document);
    TUNE_CHECK(document.ok());
    arguments.Set("file", request.file);
    arguments.Set("document", *std::move(document));
  }
  if (request.trial) arguments.Set("trial", request.trial->value);
  if (request.now) arguments.Set("now", true);
  if (request.alone_with) arguments.Set("alone_with", *request.alone_with);
  if (request.samples) arguments.Set("samples", *request.samples);
  if (request.errored) arguments.Set("errored", true);
  if (request.verb == ControlVerb::kSet) {
    Value settings = Value::MakeList();
    for (const std::string& setting : request.settings) settings.AsList().emplace_back(setting);
    arguments.Set("settings", std::move(settings));
  }
  if (request.verb == ControlVerb::kDrain) arguments.Set("worker", request.worker);
  Value object = Value::MakeMap();
  object.Set("tuner", request.tuner);
  object.Set("sweep", request.sweep);
  if (request.by) {
    Value by = Value::MakeMap();
    by.Set("name", request.by->name);
    by.Set("role", request.by->is_admin ? "admin" : "user");
    object.Set("by", std::move(by));
  }
  object.Set(ControlVerbName(request.verb), std::move(arguments));
  return ToJson(object);
}

std::string EncodeAnswer(const ControlAnswer& answer) {
  Value object = Value::MakeMap();
  if (answer.status.ok()) {
    Value lines = Value::MakeList();
    for (const std::string& line : answer.lines) lines.AsList().emplace_back(ToUtf8(line));
    object.Set("ok", std::move(lines));
    if (answer.left_out > 0) object.Set("left_out", answer.left_out);
    return ToJson(object);
  }
  object.Set("error", ToUtf8(answer.status.message()));
  for (const CodeName& code : kCodes) {
    if (code.code == answer.status.code()) object.Set("code", code.name);
  }
  return ToJson(object);
}

Result<ControlRequest> DecodeRequest(std::string_view line) {
  TUNE_ASSIGN_OR_RETURN(const Value object, ParseObject(line, kControlLineBytesMax));
  ControlRequest request;
  int verb_count = 0;
  for (const MapEntry& entry : object.AsMap()) {
    if (entry.key == "tuner") {
      TUNE_ASSIGN_OR_RETURN(request.tuner,
                            ReadInt("tuner", entry.value, 1, std::numeric_limits<int32_t>::max()));
    } else if (entry.key == "sweep") {
      const bool is_name = entry.value.is_string() && !entry.value.AsString().empty() &&
                           entry.value.AsString().size() <= limits::kNameBytesMax;
      if (!is_name) return Unexpected("sweep", entry.value, "a sweep's name");
      request.sweep = entry.value.AsString();
    } else if (entry.key == "by") {
      TUNE_RETURN_IF_ERROR(ReadAsker(entry.value, request.by));
    } else if (const auto verb = VerbNamed(entry.key)) {
      if (++verb_count > 1) return InvalidArgument("read more than one verb, expected one a line");
      TUNE_RETURN_IF_ERROR(ReadVerb(*verb, entry.value, request));
    } else {
      return InvalidArgument("unknown key '" + ToUtf8(entry.key.substr(0, 40)) + "'");
    }
  }
  if (verb_count == 0) {
    return InvalidArgument(
        "the verb is missing: one of pause, unpause, stop, set, drain, devices, workers, "
        "waiting, state, states, submit, queue, resume, delete, note, cluster and cluster_down");
  }
  if (request.tuner == 0) return InvalidArgument("'tuner' is missing");
  if (request.sweep.empty()) return InvalidArgument("'sweep' is missing");
  return request;
}

Result<ControlAnswer> DecodeAnswer(std::string_view line) {
  TUNE_ASSIGN_OR_RETURN(const Value object, ParseObject(line, kControlAnswerBytesMax));
  ControlAnswer answer;
  if (const Value* const lines = object.Find("ok"); lines != nullptr && lines->is_list()) {
    for (const Value& text : lines->AsList()) {
      if (!text.is_string()) return Unexpected("ok", text, "a text");
      answer.lines.push_back(text.AsString());
    }
    if (const Value* const left_out = object.Find("left_out"); left_out != nullptr) {
      TUNE_ASSIGN_OR_RETURN(answer.left_out,
                            ReadInt("left_out", *left_out, 0, std::numeric_limits<int64_t>::max()));
    }
    return answer;
  }
  const Value* const error = object.Find("error");
  const Value* const name = object.Find("code");
  if (error == nullptr || !error->is_string() || name == nullptr || !name->is_string()) {
    return InvalidArgument("expected 'ok', or 'error' with its 'code'");
  }
  for (const CodeName& code : kCodes) {
    if (name->AsString() != code.name) continue;
    answer.status = Status(code.code, error->AsString());
    return answer;
  }
  return Unexpected("code", *name, "the code of an error");
}

}  // namespace tune
