#include "tuner/control/control_request.h"

#include <array>
#include <limits>
#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "core/value.h"

namespace tune {
namespace {

constexpr std::array kVerbs = {ControlVerb::kPause,  ControlVerb::kUnpause, ControlVerb::kStop,
                               ControlVerb::kSet,    ControlVerb::kDrain,   ControlVerb::kDevices,
                               ControlVerb::kState,  ControlVerb::kTraffic, ControlVerb::kWorkers,
                               ControlVerb::kWaiting};

struct CodeName {
  StatusCode code;
  const char* name;
};
constexpr CodeName kCodes[] = {{StatusCode::kInvalidArgument, "invalid_argument"},
                               {StatusCode::kNotFound, "not_found"},
                               {StatusCode::kFailedPrecondition, "failed_precondition"},
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

Result<int64_t> ReadInt(std::string_view key, const Value& value, int64_t min, int64_t max) {
  if (value.is_int() && value.AsInt() >= min && value.AsInt() <= max) return value.AsInt();
  return Unexpected(key, value,
                    "an integer from " + std::to_string(min) + " to " + std::to_string(max));
}

Status ReadArgument(const MapEntry& argument, ControlRequest& request) {
  const bool is_set = request.verb == ControlVerb::kSet;
  const bool takes_trial = request.verb == ControlVerb::kPause ||
                           request.verb == ControlVerb::kUnpause ||
                           request.verb == ControlVerb::kStop;
  const bool takes_now = request.verb == ControlVerb::kPause || request.verb == ControlVerb::kStop;
  if (argument.key == "trial" && takes_trial) {
    TUNE_ASSIGN_OR_RETURN(const int64_t number,
                          ReadInt("trial", argument.value, 0, limits::kSamplesMax));
    request.trial = TrialNumber{number};
  } else if (argument.key == "now" && takes_now) {
    if (!argument.value.is_bool()) return Unexpected("now", argument.value, "true or false");
    request.now = argument.value.AsBool();
  } else if (argument.key == "settings" && is_set) {
    if (!argument.value.is_list()) return Unexpected("settings", argument.value, "a list");
    for (const Value& setting : argument.value.AsList()) {
      if (!setting.is_string()) return Unexpected("settings", setting, "PATH=VALUE");
      request.settings.push_back(setting.AsString());
    }
  } else if (argument.key == "worker" && request.verb == ControlVerb::kDrain) {
    if (!argument.value.is_string() || argument.value.AsString().empty())
      return Unexpected("worker", argument.value, "a worker's name");
    request.worker = argument.value.AsString();
  } else {
    return InvalidArgument(std::string(ControlVerbName(request.verb)) + ": unknown key '" +
                           ToUtf8(argument.key.substr(0, 40)) + "'");
  }
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
    case ControlVerb::kTraffic:
      return "traffic";
    case ControlVerb::kWorkers:
      return "workers";
    case ControlVerb::kWaiting:
      return "waiting";
  }
  return "";
}

bool ChangesSweep(ControlVerb verb) {
  return verb == ControlVerb::kPause || verb == ControlVerb::kUnpause ||
         verb == ControlVerb::kStop || verb == ControlVerb::kSet || verb == ControlVerb::kDrain;
}

std::string EncodeRequest(const ControlRequest& request) {
  Value arguments = Value::MakeMap();
  if (request.trial) arguments.Set("trial", request.trial->value);
  if (request.now) arguments.Set("now", true);
  if (request.verb == ControlVerb::kSet) {
    Value settings = Value::MakeList();
    for (const std::string& setting : request.settings) settings.AsList().emplace_back(setting);
    arguments.Set("settings", std::move(settings));
  }
  if (request.verb == ControlVerb::kDrain) arguments.Set("worker", request.worker);
  Value object = Value::MakeMap();
  object.Set("tuner", request.tuner);
  object.Set("sweep", request.sweep);
  object.Set(ControlVerbName(request.verb), std::move(arguments));
  return ToJson(object);
}

std::string EncodeAnswer(const ControlAnswer& answer) {
  Value object = Value::MakeMap();
  if (answer.status.ok()) {
    Value lines = Value::MakeList();
    for (const std::string& line : answer.lines) lines.AsList().emplace_back(ToUtf8(line));
    object.Set("ok", std::move(lines));
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
        "waiting and state");
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
