#include "trial_runner/command/program_messages.h"

#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"

namespace tune {
namespace {

Status ReadMetrics(const Value& map, Metrics& out) {
  const Value* const metrics = map.Find("metrics");
  if (metrics == nullptr || !metrics->is_map()) {
    return InvalidArgument("metrics: expected names and numbers");
  }
  const size_t count = metrics->AsMap().size();
  if (count == 0) return InvalidArgument("metrics: none is there, expected at least one");
  if (count > static_cast<size_t>(limits::kMetricsPerReportMax)) {
    return InvalidArgument("metrics: " + std::to_string(count) + ", expected at most " +
                           std::to_string(limits::kMetricsPerReportMax));
  }
  for (const MapEntry& entry : metrics->AsMap()) {
    if (entry.key.empty() || entry.key.size() > limits::kNameBytesMax) {
      return InvalidArgument("metrics: a name must have 1 to " +
                             std::to_string(limits::kNameBytesMax) + " bytes");
    }
    const std::optional<double> number = ReadNumber(entry.value);
    if (!number) {
      return InvalidArgument(entry.key + ": read " + Shown(entry.value) + ", expected a number");
    }
    out.emplace_back(entry.key, *number);
  }
  return OkStatus();
}

Result<Value> ParseLine(std::string_view line) {
  if (!IsUtf8(line)) return InvalidArgument("the message is not UTF-8");
  Result<Value> message = ParseJson(line, JsonDialect::kWithNaN);
  if (!message.ok()) {
    return InvalidArgument("the message is not JSON: " + message.status().message());
  }
  if (!message->is_map()) return InvalidArgument("the message is no map");
  return message;
}

}  // namespace

Result<ProgramReport> ParseProgramReport(std::string_view line) {
  TUNE_ASSIGN_OR_RETURN(const Value message, ParseLine(line));
  const Value* const protocol = message.Find("protocol");
  if (protocol != nullptr && (!protocol->is_int() || protocol->AsInt() > kProgramProtocol)) {
    return InvalidArgument("the program speaks version " + ToJson(*protocol) +
                           " of the protocol, this tune knows " + std::to_string(kProgramProtocol) +
                           "; use the module that came with it");
  }
  const Value* const map = message.Find("report");
  if (map == nullptr || !map->is_map()) return InvalidArgument("expected a report");
  ProgramReport report;
  TUNE_RETURN_IF_ERROR(ReadMetrics(*map, report.metrics));
  if (const Value* const iteration = map->Find("iteration");
      iteration != nullptr && !iteration->is_null()) {
    const bool is_iteration = iteration->is_int() && iteration->AsInt() >= 1 &&
                              iteration->AsInt() <= kProgramIterationMax;
    if (!is_iteration) {
      return InvalidArgument("training_iteration: read " + Shown(*iteration) +
                             ", expected an integer from 1 to " +
                             std::to_string(kProgramIterationMax));
    }
    report.iteration = iteration->AsInt();
  }
  const Value* const checkpoint = map->Find("checkpoint");
  if (checkpoint == nullptr || checkpoint->is_null()) return report;
  const bool is_path = checkpoint->is_string() && checkpoint->AsString().starts_with('/') &&
                       checkpoint->AsString().size() <= limits::kPathBytesMax &&
                       checkpoint->AsString().find('\0') == std::string::npos;
  if (!is_path) {
    return InvalidArgument("checkpoint: read " + Shown(*checkpoint) +
                           ", expected an absolute path");
  }
  report.checkpoint = checkpoint->AsString();
  return report;
}

Result<ProgramAnswer> ParseProgramAnswer(std::string_view line) {
  TUNE_ASSIGN_OR_RETURN(const Value message, ParseLine(line));
  if (const Value* const error = message.Find("error"); error != nullptr && error->is_string()) {
    return InvalidArgument(error->AsString());
  }
  const Value* const answer = message.Find("answer");
  const Value* const iteration = message.Find("iteration");
  const bool is_whole = answer != nullptr && answer->is_string() && iteration != nullptr &&
                        iteration->is_int() &&
                        (answer->AsString() == "continue" || answer->AsString() == "stop");
  if (!is_whole) return Internal("read an answer of another form");
  return ProgramAnswer{answer->AsString() == "stop", iteration->AsInt()};
}

std::optional<std::string> ReadRefusal(std::string_view line) {
  const Result<Value> message = ParseLine(line);
  const Value* const refused = message.ok() ? message->Find("refused") : nullptr;
  if (refused == nullptr || !refused->is_string()) return std::nullopt;
  return refused->AsString();
}

std::optional<NextRequest> ParseNextRequest(std::string_view line) {
  const Result<Value> message = ParseLine(line);
  const Value* const next = message.ok() ? message->Find("next") : nullptr;
  if (next == nullptr || *next != Value(true) || message->Find("report") != nullptr) {
    return std::nullopt;
  }
  const Value* const note = message->Find("note");
  constexpr size_t kNoteBytesMax = 1'000;
  if (note == nullptr || !note->is_string()) return NextRequest{};
  return NextRequest{ToUtf8(std::string_view(note->AsString()).substr(0, kNoteBytesMax))};
}

std::string EncodeNextTrial(const std::map<std::string, std::string>& variables) {
  Value map = Value::MakeMap();
  for (const auto& [name, value] : variables) map.Set(name, Value(ToUtf8(value)));
  Value message = Value::MakeMap();
  message.Set("trial", std::move(map));
  return ToJson(message) + "\n";
}

std::string EncodeProgramReport(const ProgramReport& report) {
  Value metrics = Value::MakeMap();
  for (const auto& [name, value] : report.metrics) metrics.Set(name, Value(value));
  Value map = Value::MakeMap();
  map.Set("metrics", std::move(metrics));
  if (report.iteration) map.Set("iteration", Value(*report.iteration));
  if (!report.checkpoint.empty()) map.Set("checkpoint", Value(report.checkpoint));
  Value message = Value::MakeMap();
  message.Set("protocol", Value(kProgramProtocol));
  message.Set("report", std::move(map));
  return ToJson(message) + "\n";
}

std::string EncodeProgramAnswer(const ProgramAnswer& answer) {
  return std::string(R"({"answer":")") + (answer.stops ? "stop" : "continue") +
         R"(","iteration":)" + std::to_string(answer.iteration) + "}\n";
}

std::string EncodeRefusal(std::string_view error) {
  std::string out = R"({"protocol":)" + std::to_string(kProgramProtocol) + R"(,"refused":)";
  AppendJsonString(ToUtf8(error), out);
  return out + "}\n";
}

std::string EncodeProgramError(std::string_view error) {
  std::string out = R"({"error":)";
  AppendJsonString(ToUtf8(error), out);
  return out + "}\n";
}

}  // namespace tune
